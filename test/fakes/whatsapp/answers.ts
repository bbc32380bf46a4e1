/** Answers of the Graph API. */
import type { ServerResponse } from 'node:http';

/** Names of files in a form have `%22` for a quotation mark (HTML Standard, "multipart/form-data"). */
export function unescaped(name: string): string {
  return name.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n');
}

export function invalid(details: string): { code: number; details: string } {
  return { code: 100, details };
}

export function json(
  response: ServerResponse,
  status: number,
  value: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=UTF-8', ...headers });
  response.end(JSON.stringify(value));
}

/** "Error handling": `code` and `error_data.details` say what is wrong. */
export function refuse(
  response: ServerResponse,
  status: number,
  code: number,
  details = '',
  headers: Record<string, string> = {},
): void {
  const data = { messaging_product: 'whatsapp', details };
  const error = { message: `(#${code}) ${details}`, type: 'OAuthException', code, error_data: data };
  json(response, status, { error: { ...error, fbtrace_id: 'Az8or2yhqkZfEZ-_4Qn_Bam' } }, headers);
}

export function page(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/html' }).end('<html><body>Sorry</body></html>');
}
