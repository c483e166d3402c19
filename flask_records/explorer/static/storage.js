// What this browser remembers of the choices of its reader. It is never needed.

const KEY = 'flask-records-explorer'

// Returns a choice for a service, or another value.
export function remembered (name, path, other) {
  try {
    return JSON.parse(localStorage.getItem(keyOf(name, path))) ?? other
  } catch {
    return other
  }
}

export function remember (name, path, value) {
  try {
    localStorage.setItem(keyOf(name, path), JSON.stringify(value))
  } catch {
    // The choice lasts as long as the view.
  }
}

// Several applications may share an origin.
const keyOf = (name, path) => [KEY, new URL('.', document.baseURI).pathname, name, path].join(' ')
