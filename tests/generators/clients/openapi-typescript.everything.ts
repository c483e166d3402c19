import { print } from './calls'
import type { Login } from './calls'
import { enter } from './openapi-typescript'

async function calls (baseUrl: string, login: Login) {
  const api = await enter(baseUrl, login)
  const { data: room } = await api.POST('/rooms', { body: { name: login.email } })
  const roomId = (room as { id: string }).id
  const { data: message } = await api.POST('/messages', { body: { text: 'a', roomId }, params: { query: { $populate: ['room'] } } })
  const { data: photo } = await api.POST('/photos', {
    body: { title: 'Cat', file: 'abc' },
    bodySerializer ({ title }) {
      const form = new FormData()
      form.set('title', title)
      form.set('file', new Blob(['abc']), 'cat.txt')
      return form
    }
  })
  const { data: summary } = await api.GET('/summaries', { params: { query: { first: '2026-01-01' } } })
  const { error } = await api.POST('/authManagement', { body: { action: 'checkUnique', value: { email: login.email } } })
  const { room: of } = message as { room?: { name?: string } | null }
  return { room: of!.name === login.email, size: photo!.size, number: summary!.number, taken: error!.name }
}

print(calls)
