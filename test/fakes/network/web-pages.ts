/** A website on loopback: plain pages, and what was requested from it. */
import { createServer } from 'node:http';

export interface FakeWebsite {
  readonly origin: string;
  /** The requested paths, in order. */
  readonly asked: string[];
  /** Serves this HTML under a path from now on. */
  serves(path: string, html: string): void;
  close(): Promise<void>;
}

export async function startFakeWebsite(): Promise<FakeWebsite> {
  const pages = new Map<string, string>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    const page = pages.get(path);
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(page ?? '<p>No such page.</p>');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    asked,
    serves: (path, html) => void pages.set(path, html),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
