#!/usr/bin/env bash
# feathers 6.0.0-pre.11: its client of Server-Sent Events stays away after a clean end.
# It connects again after a connection that breaks, or an answer that is refused. A
# response that ends as HTTP says, as servers and proxies end one that they close in good
# order, is the last one, without an event; EventSource of browsers connects again.
# Seen: 1 request after a clean end, 2 or more after a break, in 3 seconds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund feathers@6.0.0-pre.11

cat >run.mjs <<'NODE'
import { createServer } from 'node:http'
import { feathers } from 'feathers'
import { fetchClient } from 'feathers/client'

async function requests (end) {
  let number = 0
  const server = createServer((request, response) => {
    number += 1
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write('data: {"event":"connected","data":{},"path":"sse"}\n\n')
    setTimeout(() => end(response), 100)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const baseUrl = `http://127.0.0.1:${server.address().port}`
  const sse = { path: 'sse', reconnectionDelay: 100, reconnectionDelayMax: 100 }
  await feathers().configure(fetchClient(fetch, { baseUrl, sse })).setup()
  await new Promise(resolve => setTimeout(resolve, 3000))
  server.close()
  return number
}

const clean = await requests(response => response.end())
const broken = await requests(response => response.destroy())
console.log(`clean ${clean}, broken ${broken > 1 ? 'again' : broken}`)
process.exit()
NODE
seen=$(node run.mjs)
echo "$seen"
[ "$seen" = "clean 1, broken again" ]
