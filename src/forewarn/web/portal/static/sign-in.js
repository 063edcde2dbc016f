// A link of `forewarn portal --open` carries a code behind the '#', which no server and no log ever sees.
const code = new URLSearchParams(location.hash.slice(1)).get('code')
const form = document.querySelector('form')
if (code && form instanceof HTMLFormElement) {
  history.replaceState(null, '', location.pathname + location.search)
  const field = form.elements.namedItem('code')
  if (field instanceof HTMLInputElement) {
    field.value = code
    form.requestSubmit()
  }
}
