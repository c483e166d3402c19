// Starts docs/chat.py, the server for the chats of FeathersJS.
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KEPT, start } from './server.js'

const CHAT = new URL('../../docs/chat.py', import.meta.url)

export async function startChat () {
  const folder = await mkdtemp(join(tmpdir(), 'records-chat-'))
  await copyFile(CHAT, join(folder, 'chat.py'))
  const server = await start(
    { FLASK_SQLALCHEMY_DATABASE_URI: `sqlite:///${join(folder, 'test.db')}` },
    port => [
      'gunicorn', '-k', 'asgi', '--chdir', folder,
      '--bind', `127.0.0.1:${port}`, ...KEPT, 'chat:create_asgi()'
    ]
  )

  return {
    ...server,
    async stop () {
      await server.stop()
      await rm(folder, { recursive: true })
    }
  }
}
