// The functions of the package that keep users logged in, as a module of JavaScript.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'

const SOURCE = await readFile(new URL('../../flask_records/openapi/logins.ts', import.meta.url), 'utf8')
const OPTIONS = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 }

export const MODULE = ts.transpileModule(SOURCE, { compilerOptions: OPTIONS }).outputText

const folder = await mkdtemp(join(tmpdir(), 'records-logins-'))
await writeFile(join(folder, 'logins.mjs'), MODULE)
const logins = await import(pathToFileURL(join(folder, 'logins.mjs')))
await rm(folder, { recursive: true })

export const { stayLoggedIn, stayLoggedInByCookie } = logins
