// Colyseus with one room without state: on message "m" everybody gets the same text of `size` bytes.
import http from 'node:http';
import { Server, Room, matchMaker } from '@colyseus/core';
import { WebSocketTransport } from '@colyseus/ws-transport';

const [port, size] = process.argv.slice(2).map(Number);
const text = 'x'.repeat(size);

class Hall extends Room {
  maxClients = Infinity;
  autoDispose = false;
  patchRate = null;
  seatReservationTime = 120;
  onCreate() {
    this.maxClients = Infinity;
    this.onMessage('m', () => this.broadcast('m', text));
  }
}

const transport = new WebSocketTransport({ server: http.createServer(), pingInterval: 0 });
const server = new Server({ transport, greet: false });
server.define('hall', Hall);
await server.listen(port, '127.0.0.1', 4096);
await matchMaker.createRoom('hall', {});
console.log('ready');
