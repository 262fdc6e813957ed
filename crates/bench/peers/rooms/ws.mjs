// A plain `ws` server with one room: whatever a client sends, everybody gets the same text of `size` bytes.
import { WebSocketServer } from 'ws';

const [port, size] = process.argv.slice(2).map(Number);
const text = JSON.stringify({ type: 'BENCH', payload: 'x'.repeat(Math.max(0, size - 29)) });
const server = new WebSocketServer({ host: '127.0.0.1', port, perMessageDeflate: false, backlog: 4096 });
server.on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', () => {
    for (const client of server.clients) if (client.readyState === 1) client.send(text);
  });
});
server.on('listening', () => console.log('ready'));
