// Fields of services, read from their JSON Schemas.

const FORMATS = { 'date-time': 'datetime', date: 'date', time: 'time', 'time-local': 'time', decimal: 'decimal' }
const LONG = 500
// The fields that name a record, best first.
export const NAMES = ['name', 'title', 'username', 'email', 'label', 'text']

// The schema without null, and of several ways the first one.
function inner (schema = {}) {
  const { anyOf, oneOf, ...rest } = schema
  const ways = anyOf || oneOf
  return ways ? { ...rest, ...inner(ways.find(way => way.type !== 'null')) } : schema
}

const types = schema => [inner(schema).type ?? []].flat().filter(type => type !== 'null')

export function isNullable (schema = {}) {
  return [schema.type ?? []].flat().includes('null') || (schema.enum || []).includes(null) ||
    (schema.anyOf || schema.oneOf || []).some(isNullable)
}

function optionsOf (schema) {
  return (inner(schema).enum || []).filter(option => option !== null)
}

// Returns the kind of a schema: 'text', 'integer', 'datetime' and so on.
function kindOf (schema = {}) {
  const found = inner(schema)
  const type = types(schema)[0]
  if (found.enum) return 'enum'
  if (found.contentEncoding === 'base64' || found.format === 'byte') return 'binary'
  if (type === 'string') {
    if (found.pattern === '^-?[0-9]+$') return 'bigint'
    return FORMATS[found.format] || (found.maxLength > LONG ? 'longtext' : 'text')
  }
  if (type === 'object') return 'json'
  return { integer: 'integer', number: 'number', boolean: 'boolean', array: 'array' }[type] || 'any'
}

export const ROUNDED = 'Not the exact number: JavaScript rounds it. A converter of the service sends all digits.'

// Returns whether a number, or one in a document, is not the one that the server has sent:
// JavaScript has no exact form of whole numbers beyond 2 to the power of 53.
// Floating-point numbers are those of the server.
export function isRounded (value, { kind } = {}) {
  if (value !== null && typeof value === 'object') return Object.values(value).some(each => isRounded(each))
  return kind !== 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
}

// Returns whether a value identifies one record. A call for none would be one for all records, and
// one for a rounded number would be one for another record.
export const isKey = value => value !== undefined && value !== null && !isRounded(value)

// Returns a value of a record, which may lack a name that each object of JavaScript has.
export const valueOf = (record, name) => Object.hasOwn(record, name) ? record[name] : undefined

// Returns the fields of the records that a service answers with.
export function fieldsOf (service) {
  const { properties = {} } = service.record || {}
  const query = service.query?.properties || {}
  const sortable = query.$sort?.properties || {}
  return Object.entries(properties).map(([name, schema]) => ({
    ...described(name, schema),
    isId: name === service.id,
    isReadonly: Boolean(schema.readOnly),
    isSortable: Object.hasOwn(sortable, name),
    isQueried: Object.hasOwn(query, name),
    operators: operatorsOf(query[name]),
    relation: relationOf(service, name)
  }))
}

// Returns the fields of related records that filters may name, such as room.name.
export function pathsOf (service) {
  const paths = Object.entries(service.query?.properties || {}).filter(([name]) => name.includes('.'))
  return paths.map(([name, schema]) => ({ ...described(name, schema), isQueried: true, operators: operatorsOf(schema), relation: null }))
}

// Returns the fields that the body of a method may have.
export function bodyFields (service, method) {
  const { properties = {}, required = [] } = service[method] || {}
  return Object.entries(properties).map(([name, schema]) => ({
    ...described(name, schema),
    isId: name === service.id,
    isReadonly: false,
    isRequired: required.includes(name),
    relation: relationOf(service, name)
  }))
}

// Returns a field of any schema, such as that of a custom method's data.
export function described (name, schema) {
  return {
    name,
    label: name,
    schema,
    plain: inner(schema),
    kind: kindOf(schema),
    isNullable: isNullable(schema),
    options: optionsOf(schema),
    hint: schema.description
  }
}

function operatorsOf (schema) {
  const ways = schema?.anyOf || []
  const group = ways.find(way => Object.keys(way.properties || {}).some(name => name.startsWith('$')))
  return Object.entries(group?.properties || {}).map(([name, value]) => {
    const isList = value.type === 'array' && value.maxItems === undefined
    return { name, isList, schema: isList ? value.items : value, kind: kindOf(isList ? value.items : value) }
  })
}

// Returns the relationship whose key a field is, or which it names.
function relationOf (service, name) {
  for (const [key, relation] of Object.entries(service.relations || {})) {
    if (relation.field === name || key === name) return { ...relation, name: key, isKey: relation.field === name }
  }
  const path = service.references?.[name]
  return path ? { path, isList: false, field: name, name, isKey: true } : null
}
