/** Matrix ids: people `@ada:example.org`, rooms `!opaque:example.org` (without a server since room version 12), events `$opaque`. */

/** At most 255 bytes each ("Identifier Grammar"); the server may have a port, or be an address in brackets. */
export const USER_ID = /^@[^\s:]{1,220}:[A-Za-z0-9.:[\]-]{1,220}$/;

export const ROOM_ID = /^![^\s:]{1,220}(?::[A-Za-z0-9.:[\]-]{1,220})?$/;

export const EVENT_ID = /^\$\S{1,254}$/;

/** A file on a media server: `mxc://server/id`. */
const CONTENT_URI = /^mxc:\/\/([A-Za-z0-9.:[\]-]{1,220})\/([A-Za-z0-9_-]{1,220})$/;

/** The server and the id of a file; undefined for any other address. */
export function readContentUri(uri: string): { server: string; mediaId: string } | undefined {
  const [, server, mediaId] = CONTENT_URI.exec(uri) ?? [];
  return server === undefined || mediaId === undefined ? undefined : { server, mediaId };
}

/** `example.org` of `@ada:example.org`. */
export function serverOf(userId: string): string {
  return userId.slice(userId.indexOf(':') + 1);
}

/** `ada` of `@ada:example.org`: the name of a person who has no other. */
export function localpartOf(userId: string): string {
  return userId.slice(1).split(':', 1)[0] ?? userId;
}
