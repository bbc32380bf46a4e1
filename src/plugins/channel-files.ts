/** Files between a channel and its plug-in's process, through a folder that both can use for the time of one call. */
import { randomUUID } from 'node:crypto';
import { copyFile, type FileHandle, rm } from 'node:fs/promises';
import path from 'node:path';
import { openPlainFile } from '../lib/walk-folder.ts';
import { ChannelError, channelUnavailable, GatewayError } from '../protocol/errors.ts';
import type { OutboundFile } from '../protocol/channel.ts';
import type { Place } from '../protocol/message.ts';
import type { PluginFile, PluginPlace } from '../protocol/plugin.ts';
import { toChannelError } from './channel-errors.ts';
import { MAX_PLUGIN_FILE_BYTES } from './manifest.ts';
import type { PluginProcess } from './plugin-process.ts';

/** A chat as plug-ins know it. */
export function placeOf({ chatId, threadId }: Place): PluginPlace {
  return { chatId, threadId };
}

/** The plug-in reads a copy, which exists for this call only. */
export async function withCopy<T>(
  process: PluginProcess,
  file: OutboundFile,
  use: (copy: PluginFile) => Promise<T>,
): Promise<T> {
  const copy = await placeFor(process);
  try {
    await copyFile(file.path, copy).catch((cause: unknown) => {
      throw new ChannelError('rejected', `The file ${file.name} cannot be read.`, { cause });
    });
    const { kind, name, mimeType, bytes, caption, replyTo, nonce } = file;
    const text = caption && { text: caption.text, plain: caption.plain };
    return await use({
      ...placeOf(file),
      kind,
      name,
      mimeType,
      bytes,
      path: copy,
      caption: text,
      replyTo,
      nonce,
    });
  } finally {
    await rm(copy, { force: true });
  }
}

/** The plug-in writes a file, which is read once and then gone. */
export async function downloaded(
  process: PluginProcess,
  signal: AbortSignal,
  bring: (file: string) => Promise<unknown>,
): Promise<AsyncIterable<Uint8Array>> {
  const file = await placeFor(process);
  try {
    await bring(file);
    const handle = await openPlainFile(file);
    const stats = await handle?.stat();
    if (handle === undefined || stats === undefined)
      throw new ChannelError('rejected', 'The plug-in has not fetched this file.');
    if (stats.size > MAX_PLUGIN_FILE_BYTES) {
      await handle.close();
      throw new GatewayError(
        'too_large',
        `A file of a plug-in may have ${MAX_PLUGIN_FILE_BYTES / 1024 / 1024} MiB.`,
      );
    }
    return chunksOf(handle, signal);
  } finally {
    // What is open can still be read.
    await rm(file, { force: true });
  }
}

async function* chunksOf(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  await using _ = handle;
  for await (const chunk of handle.createReadStream({ autoClose: false })) {
    if (signal.aborted) throw channelUnavailable('The file is no longer read.', signal.reason);
    yield chunk;
  }
}

/** A path in the folder that the gateway shares with the process. Throws `ChannelError('unavailable')`. */
async function placeFor(process: PluginProcess): Promise<string> {
  try {
    await process.start();
  } catch (error) {
    throw toChannelError(error, false);
  }
  return path.join(process.files ?? '', randomUUID());
}
