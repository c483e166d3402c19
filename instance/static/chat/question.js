// Asks before something is done that can't be undone.
import { find } from './dom.js'

const dialog = find('#question')

export function ask (words, yes) {
  find('p', dialog).textContent = words
  find('.yes', dialog).textContent = yes
  dialog.returnValue = ''
  dialog.showModal()
  return new Promise(resolve => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true })
  })
}

find('.yes', dialog).addEventListener('click', () => dialog.close('yes'))
