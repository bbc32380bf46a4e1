/** Files that are fetched over HTTP: no path and no type of a file can be abused. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OTHER } from '../../../fakes/gateway/gateway-api.ts';
import { openApi, type OpenApi } from '../client.ts';
import { codeOf, fetched, FILES, stored } from './file-client.ts';

let api: OpenApi;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

describe('a file that is fetched', () => {
  it.each([
    [
      'an SVG with a script',
      'logo.svg',
      '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    ],
    ['a page', 'page.html', '<!doctype html><script>alert(1)</script>'],
    ['a page that is called a picture', 'photo.png', '<html><script>alert(1)</script></html>'],
    ['unknown bytes', 'x.bin', Buffer.from([0, 1, 2, 3])],
  ])('never runs when it is %s', async (_what, name, body) => {
    const back = await fetched(api, await stored(api, name, body));
    expect(Object.fromEntries(back.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${name}"; filename*=UTF-8''${name}`,
      'content-security-policy': "default-src 'none'; sandbox",
    });
    await back.body?.cancel();
  });

  it('has a name that breaks no header', async () => {
    const back = await fetched(api, encodeURIComponent(await stored(api, 'a"b\\c;\r\n\u202eé%41.txt', 'x')));
    expect(back.headers.get('content-disposition')).toBe(
      `attachment; filename="c; __41.txt"; filename*=UTF-8''c%3B%20%C3%A9%2541.txt`,
    );
    expect([back.headers.get('content-type'), await back.text()]).toEqual(['text/plain; charset=utf-8', 'x']);
  });

  it.each([
    ['../a', '404 not_found'],
    ['%2e%2e/%2e%2e/etc/passwd', '404 not_found'],
    ['..%2f..%2fetc%2fpasswd', '404 file_not_found'],
    ['%2fetc%2fpasswd', '404 file_not_found'],
    ['%00', '404 file_not_found'],
    ['%ff', '400 bad_path'],
    ['missing', '404 file_not_found'],
  ])('is never found at %s', async (file, code) => {
    await stored(api, 'a', 'x');
    expect(await codeOf(await fetched(api, file))).toBe(code);
  });

  it('is available to those who may read the session', async () => {
    const file = await stored(api, 'a', 'x');
    expect((await fetched(api, file, OTHER)).status).toBe(404);
    const gone = await api.call(`${FILES}/${file}`, { method: 'DELETE', headers: { authorization: OTHER } });
    expect(await codeOf(gone)).toBe('404 session_not_found');
    expect(await (await api.call(`${FILES}/${file}`)).text()).toBe('x');
  });
});
