/** Where files of messages are in the folder of their session. */
import { safeFileName } from '../lib/file-name.ts';

/** The path of the `index`-th file of a message: the same at each attempt. */
export function inboxPath(laneSeq: number, index: number, name: string): string {
  const number = index === 0 ? `${laneSeq}` : `${laneSeq}.${index + 1}`;
  return `inbox/${number}-${safeFileName(name).replaceAll(' ', '-')}`;
}

/** The path of a picture as models get it, next to the file that was sent. */
export function picturePath(file: string): string {
  const slash = file.lastIndexOf('/');
  return `${file.slice(0, slash)}/.pictures/${file.slice(slash + 1)}.jpg`;
}
