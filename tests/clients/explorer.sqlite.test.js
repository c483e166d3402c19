import { onFile, testOn } from './large.js'

testOn('SQLite', onFile)
