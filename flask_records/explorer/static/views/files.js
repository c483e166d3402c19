// A file whose bytes become the value of a binary field.
import { announce, button, element } from '../dom.js'

// Returns a button that reads a file into a control as base64, or null for other fields.
export function addFile ({ kind, name }, control, change) {
  if (kind !== 'binary') return null
  const size = element('span', { class: 'soft', role: 'status' })
  const chooser = element('input', {
    type: 'file',
    hidden: true,
    onchange: async () => {
      const [file] = chooser.files
      if (!file) return
      try {
        control.value = await base64(file)
        size.textContent = `${file.name}, ${file.size.toLocaleString()} bytes`
        change()
      } catch (error) {
        announce(error.message, 'error')
      }
    }
  })
  return element('span', { class: 'row' }, button('Choose a file…', () => chooser.click(), { 'aria-label': `Choose a file for ${name}` }), size, chooser)
}

const base64 = file => new Promise((resolve, reject) => {
  const reader = new FileReader()
  reader.addEventListener('load', () => resolve(reader.result.slice(reader.result.indexOf(',') + 1)))
  reader.addEventListener('error', () => reject(reader.error))
  reader.readAsDataURL(file)
})
