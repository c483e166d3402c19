import { print } from './calls'
import type { Login } from './calls'
import { enter, errorOf } from './typescript-fetch'
import { AuthManagementApi, MessagesApi, PhotosApi, RoomsApi, SummariesApi } from './generated/typescript-fetch'

async function calls (basePath: string, login: Login) {
  const configuration = await enter(basePath, login)
  const { id: roomId } = await new RoomsApi(configuration).createRooms({ roomsCreate: { name: login.email } })
  const message = await new MessagesApi(configuration).createMessages({ createMessagesRequest: { text: 'a', roomId }, $populate: ['room'] })
  const photo = await new PhotosApi(configuration).createPhotos({ title: 'Cat', file: new Blob(['abc']) })
  const summary = await new SummariesApi(configuration).findSummaries({ first: new Date('2026-01-01') })
  const authManagementCreate = { action: 'checkUnique', value: { email: login.email } }
  const taken = await errorOf(new AuthManagementApi(configuration).createAuthManagement({ authManagementCreate } as never))
  return { room: message.room!.name === login.email, size: photo.size, number: summary.number, taken }
}

print(calls)
