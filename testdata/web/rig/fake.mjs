// Relays that are not what they should be, one for each word that says so.
import { createServer } from 'node:http';
import { WebSocketServer } from 'ws';

/**
 * fakeRelay speaks just enough of NIP-01 and NIP-42. `answer(filter, sub, kind)`
 * gives what follows a REQ or COUNT: frames as arrays or as raw text; 'hang' for
 * nothing, 'die' to hang up.
 * @param {{answer: (filter: any, sub: string, kind: string) => any}} options
 */
export async function fakeRelay(t, { answer }) {
  const server = createServer((req, res) => {
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.setHeader('Access-Control-Allow-Headers', '*');
    res.statusCode = req.method === 'OPTIONS' ? 204 : 404;
    res.end();
  });
  const sockets = new WebSocketServer({ server });
  const asked = [];
  sockets.on('connection', socket => {
    socket.on('error', () => {});
    socket.send(JSON.stringify(['AUTH', 'a challenge']));
    socket.on('message', data => {
      const [kind, sub, filter] = JSON.parse(String(data));
      if (kind === 'CLOSE') return;
      if (kind === 'AUTH' || kind === 'EVENT') {
        if (kind === 'EVENT') asked.push(kind);
        return socket.send(JSON.stringify(['OK', sub.id, true, '']));
      }
      asked.push(kind);
      const said = answer(filter, sub, kind);
      if (said === 'hang') return;
      if (said === 'die') return socket.terminate();
      for (const frame of said) socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
    });
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  t.after(() => { for (const c of sockets.clients) c.terminate(); sockets.close(); server.close(); server.closeAllConnections(); });
  return { url: `ws://127.0.0.1:${server.address().port}`, asked };
}

/** What an honest relay says that has nothing. */
export const nothing = (sub, kind) => (kind === 'COUNT' ? [['COUNT', sub, { count: 0 }]] : [['EOSE', sub, ['finish']]]);
