/** Converts the files of Slack's messages to the gateway's form. Pure. */
import type { Media } from '../../../src/protocol/media.ts';
import { oneLine } from '../../../src/lib/text.ts';
import type { RawFile } from '../events.ts';

/** Kinds of files by media type family. */
const FAMILIES = ['image', 'audio', 'video'] as const;
/** Files that are only a line in the message: deleted, too old for the workspace's plan, or stored elsewhere. */
const WITHOUT_BYTES = new Set(['tombstone', 'hidden_by_limit', 'external']);

/** The files that can be read. */
export function mediaOf(files: readonly RawFile[]): Media[] {
  return files.filter(hasBytes).map((one) => {
    const { mimetype: mimeType, name, size, duration_ms: ms } = one;
    const family = mimeType?.split('/')[0];
    const kind =
      one.subtype === 'slack_audio' ? 'voice' : (FAMILIES.find((known) => known === family) ?? 'file');
    return {
      kind,
      url: referenceOf(one),
      // Slack chooses the names of recordings, not the sender.
      ...(typeof name === 'string' && kind !== 'voice' && { name }),
      ...(typeof mimeType === 'string' && { mimeType }),
      ...(size !== undefined && { bytes: size }),
      ...(ms !== undefined && { seconds: Math.round(ms / 1_000) }),
    };
  });
}

/** All others, as text. */
export function textOfFiles(files: readonly RawFile[]): string {
  return files
    .filter((one) => !hasBytes(one))
    .map(({ title, name, external_url: url }) => {
      const called = oneLine(title ?? name ?? '');
      return `[${['file', called, url].filter(Boolean).join(' ')}${url === undefined ? ', which Slack no longer shows' : ''}]`;
    })
    .join('\n');
}

/** What `Media.url` contains for a file: its address, which needs the bot's token, and its id. */
export function readReference(reference: string): { url: URL | undefined; fileId: string } | undefined {
  const url = URL.parse(reference);
  if (url === null) return undefined;
  const fileId = url.hash.slice(1);
  if (!/^F[0-9A-Z]{2,30}$/.test(fileId)) return undefined;
  url.hash = '';
  return { url: url.protocol === 'slack:' ? undefined : url, fileId };
}

/** For files of other workspaces Slack gives only the id (`file_access: check_file_info`). */
function referenceOf({ id, url_private_download: download, url_private: shown }: RawFile): string {
  return `${download ?? shown ?? 'slack:file'}#${id}`;
}

function hasBytes({ mode = '' }: RawFile): boolean {
  return !WITHOUT_BYTES.has(mode);
}
