// Runs the calls of a client, and prints what they have given.
export type Login = { email: string, password: string }

export function print (calls: (base: string, login: Login) => Promise<object>) {
  const [base, email] = process.argv.slice(2)
  calls(base!, { email: email!, password: 'correct horse battery' }).then(
    given => console.log(JSON.stringify(given)),
    error => {
      console.error(error)
      process.exit(1)
    }
  )
}
