// The relay over HTTP, signed by nostr-tools (NIP-98) and sent by fetch.
import { getToken } from 'nostr-tools/nip98'

/**
 * call sends a request; with somebody it is signed. o.url, o.method and
 * o.payload are what is signed instead of the truth, o.headers are sent as well.
 * @returns {Promise<{status: number, headers: Headers, body: any}>}
 */
export async function call(stage, who, method, path, body, o = {}) {
  const url = stage.http + path
  const headers = { ...o.headers }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (who) headers.Authorization = await getToken(o.url ?? url, o.method ?? method, who.sign, true, 'payload' in o ? o.payload : body)
  const response = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), redirect: 'error' })
  return { status: response.status, headers: response.headers, body: await response.json() }
}
