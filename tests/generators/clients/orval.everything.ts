import { print } from './calls'
import type { Login } from './calls'
import { enter } from './orval'
import * as api from './generated/orval/api'

async function calls (base: string, login: Login) {
  await enter(base, login)
  const room = await api.createRooms({ name: login.email })
  const roomId = (room.data as { id: string }).id
  const message = await api.createMessages({ text: 'a', roomId }, { $populate: ['room'] })
  const photo = await api.createPhotos({ title: 'Cat', file: new Blob(['abc']) })
  const summary = await api.findSummaries({ first: '2026-01-01' })
  const taken = await api.createAuthManagement({ action: 'checkUnique', value: { email: login.email } })
  if (photo.status !== 201 || summary.status !== 200 || taken.status !== 400) throw new Error('status')
  const { room: of } = message.data as api.Messages
  return { room: of!.name === login.email, size: photo.data.size, number: summary.data.number, taken: taken.data.name }
}

print(calls)
