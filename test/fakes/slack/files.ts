/** The file servers of the fake Slack: uploads to a requested address, downloads with the bot's token. */
import type { ServerResponse } from 'node:http';
import type { Workspace } from './workspace.ts';

/** Accepts the bytes of an upload, which must be as many as were announced. */
export function takeUpload(
  workspace: Workspace,
  { url, body, response }: { url: URL; body: Buffer; response: ServerResponse },
): void {
  const file = workspace.files.get(url.pathname.split('/').at(-1) ?? '');
  const isWhole = body.length === Number(url.searchParams.get('length'));
  if (file !== undefined && isWhole) file.bytes = body;
  response.writeHead(file !== undefined && isWhole ? 200 : 400).end('OK');
}

export interface Download {
  url: URL;
  /** The token is the bot's, and may read files. */
  isAllowed: boolean;
  failure: 'cut' | number | undefined;
  response: ServerResponse;
}

/** Serves the bytes of a file; unauthorized requests are redirected to the sign-in page. */
export function serveFile(workspace: Workspace, { url, isAllowed, failure, response }: Download): void {
  const file = workspace.files.get(url.pathname.split('/')[2] ?? '');
  if (!isAllowed) response.writeHead(302, { location: '/signin' }).end();
  else if (file === undefined || typeof failure === 'number')
    response.writeHead(typeof failure === 'number' ? failure : 404, { 'retry-after': '1' }).end('no file');
  else {
    response.writeHead(200, { 'content-type': file.mimetype, 'content-length': file.bytes.length });
    if (failure === undefined) response.end(file.bytes);
    else response.write(file.bytes.subarray(0, file.bytes.length / 2), () => response.destroy());
  }
}
