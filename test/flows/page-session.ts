/** The session of a browser that has signed in, as its page sends it: a cookie, and in a header the key to it. */

/** The headers of its requests, from the answer to its sign-in. */
export async function pageSession(response: Response): Promise<{ cookie: string; 'x-parley-page': string }> {
  const { pageKey = '' }: { pageKey?: string } = await response.json();
  const cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return { cookie, 'x-parley-page': pageKey };
}
