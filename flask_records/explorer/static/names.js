// The names of related records, beside their keys.
import { titleOf } from './values.js'

const SIZE = 100

export class Names {
  constructor (explorer) {
    this.explorer = explorer
    this.known = new Map()
  }

  // Fills in the names of all references in a node, with one call for each related service.
  async fill (node) {
    const wanted = Map.groupBy(node.querySelectorAll('.reference .name:empty'), each => each.reference.path)
    await Promise.all([...wanted].map(([path, places]) => this.fillIn(path, places)))
  }

  async fillIn (path, places) {
    const names = this.known.get(path) ?? this.known.set(path, new Map()).get(path)
    const keys = [...new Set(places.map(each => each.reference.key))].filter(key => !names.has(String(key)))
    for (const key of keys) names.set(String(key), '')
    for (const [key, name] of await this.find(path, keys)) names.set(String(key), name)
    for (const each of places) each.textContent = names.get(String(each.reference.key)) ?? ''
  }

  // Returns the records with some keys, as far as they can be read: names are never needed.
  async find (path, keys) {
    const { connection, services } = this.explorer
    const service = services.get(path)
    if (keys.length === 0 || !service.methods.includes('find') || service.placeholders.length) return []
    try {
      await connection.load(path)
      const size = Math.min(SIZE, service.maxPageSize ?? SIZE)
      const parts = Array.from({ length: Math.ceil(keys.length / size) }, (_, index) => keys.slice(index * size, (index + 1) * size))
      const answers = await Promise.all(parts.map(part => connection.service(path).find({ query: { [service.id]: { $in: part }, $limit: size } })))
      return answers.flatMap(answer => answer.data ?? answer).map(record => [record[service.id], titleOf(record) ?? ''])
    } catch {
      return []
    }
  }
}
