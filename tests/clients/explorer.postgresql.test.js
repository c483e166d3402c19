import { onPostgresql, POSTGRESQL, testOn } from './large.js'

testOn('PostgreSQL', onPostgresql, POSTGRESQL ? false : 'TEST_POSTGRESQL_URL is not set')
