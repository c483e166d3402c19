// Times of the server, in the zone of the reader.

// Returns a time as the controls of browsers hold it, or an empty text if it is none.
export function writeMoment (text) {
  const moment = new Date(text ?? Number.NaN)
  if (Number.isNaN(moment.getTime())) return ''
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 23)
}

// Returns the time that a control holds as the server reads it. It throws an error, whose
// message is a phrase, if there is no such time.
export function readMoment (text) {
  const moment = new Date(text).toISOString()
  // Clocks that are put forward leave out an hour, which the date takes for the next one.
  if (!writeMoment(moment).startsWith(text.slice(0, 16))) throw new Error('is a time that your zone leaves out')
  return moment
}
