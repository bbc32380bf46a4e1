/** Files that come with messages and go with answers: from what a sender's app claims to what the gateway has read. */
import { z } from 'zod';
import type { TextRef, Say } from './texts/say.ts';

/** `voice` is sound that was recorded for this chat; `audio` is any other. */
const mediaKind = z.enum(['image', 'audio', 'voice', 'video', 'file']);

/** The shape of a stored `Media`. */
export const mediaShape = z.object({
  kind: mediaKind,
  name: z.string().optional(),
  mimeType: z.string().optional(),
  bytes: z.number().optional(),
  seconds: z.number().optional(),
  /** The channel's own reference, for `Channel.download`; `session:<path>` for a file of the session's folder. */
  url: z.string(),
});

export type MediaKind = z.infer<typeof mediaKind>;

/** A file that came with a message, as its sender's app describes it: claims, until the bytes have been read. */
export type Media = z.infer<typeof mediaShape>;

/** A file of a session whose bytes were read: what rows, prompts and deliveries refer to. */
export interface Attachment {
  kind: MediaKind;
  /** Safe to display and to use as a file name. */
  name: string;
  /** Read from the content, never from the name. */
  mimeType: string;
  bytes: number;
  sha256: string;
  /** Relative to the session's folder: `inbox/…`, `outbox/…`. */
  file: string;
  seconds?: number | undefined;
  /** The path by which the text of its message shows it: `![](chart.png)`. */
  inText?: string | undefined;
}

/** A file that goes out, as it was kept in the session's folder. */
export interface SentMedia extends Attachment {
  /** Markdown; shown under the file, or after it if it is too long for that. */
  caption?: string | undefined;
}

/** A file with speech. */
export interface Recording {
  /** Absolute, on this node. */
  path: string;
  name: string;
  mimeType: string;
  /** As the sender's app states it. */
  seconds?: number | undefined;
  /** Who has sent it. */
  userId?: string | undefined;
}

/** Files on their way out. Throws `ToolError` and `StoreError`. */
export interface OutgoingFiles {
  /**
   * Stores a copy of a session's file as it is now, to be sent; the same content has one copy. Throws `ToolError`:
   * `not_found`, `refused`, `empty`, `too_large`, `workspace_full`.
   */
  keep(folder: string, path: string): Promise<Attachment>;
  /**
   * A copy of a stored file with exactly its bytes, which no program can change. Throws `ToolError`: `not_found`, also
   * while its node has not shared it yet; `changed`.
   */
  copy(folder: string, file: Pick<Attachment, 'file' | 'sha256' | 'name'>): Promise<PrivateCopy>;
  write(text: string): Promise<PrivateCopy>;
}

/**
 * Finds the files that an answer shows (`![caption](file)`) and stores copies. A file that cannot be shown is named in
 * the text. Throws only `StoreError`.
 */
export type AnswerFiles = (
  folder: string,
  text: string,
  say: Say,
) => Promise<{
  media: readonly SentMedia[];
  /** The text for chats, without the parts that are then shown as files. */
  content: string;
}>;

/** A file outside the sessions' folders, removed on disposal. */
export interface PrivateCopy extends AsyncDisposable {
  /** Absolute. */
  path: string;
}

/** What a caller asks of a transcript; what is left out is as in the settings. */
export interface TranscriptRequest {
  /** A code such as `de`. */
  language?: string | undefined;
  /** Words that occur in it, or what was said before. */
  prompt?: string | undefined;
  temperature?: number | undefined;
  /** Who asks for it. */
  userId?: string | undefined;
  verbose?: boolean | undefined;
}

/** What is said in a recording; a verbose one has further fields of the server. */
export interface Transcript extends Record<string, unknown> {
  text: string;
}

/** Turns speech into text. Throws `GatewayError`. */
export interface Transcriber {
  transcribe(recording: Recording, signal: AbortSignal): Promise<string>;
  /** The whole of it, as a caller asks for it. */
  transcript(recording: Recording, request: TranscriptRequest, signal: AbortSignal): Promise<Transcript>;
}

/** The beginning of a document's text. */
export interface DocumentStart {
  text: string;
  /** Length of `text` and of the whole text, in bytes of UTF-8: `read_file` continues after the first. */
  bytes: number;
  totalBytes: number;
}

/** A file of a message as the gateway has read it, or why it could not. */
export interface ReceivedFile {
  kind: MediaKind;
  name: string;
  /** Undefined for a file that was refused, or is gone. */
  attachment?: Attachment | undefined;
  problem?: string | undefined;
  /** The same for the person, if it is one of the gateway's texts. */
  problemText?: TextRef | undefined;
  document?: DocumentStart | undefined;
  /** What is said in a recording. */
  spoken?: string | undefined;
  /** The picture as models get it; `ref` is for `Pictures`. */
  picture?: { ref: string; width: number; height: number } | undefined;
}

/** The files of one message, and where they belong. */
export interface FilesOfMessage {
  channel: string;
  media: readonly Media[];
  userId: string;
  folder: string;
  /** The message's place in its lane: it gives a repeat's files the same names. */
  laneSeq: number;
}

/**
 * Fetches a message's files into the session's folder and reads them; a repeat creates no duplicates. A file that
 * cannot be used has a `problem`. After `signal` aborts, it ends soon. Throws only `StoreError`.
 */
export type ReceiveFiles = (message: FilesOfMessage, signal: AbortSignal) => Promise<ReceivedFile[]>;

/** A picture as a model server accepts it. */
export interface Picture {
  mimeType: string;
  base64: string;
}

/**
 * Stores a file from a tool call in the session's folder, the same content once. `picture` is for `Pictures`. Throws
 * `GatewayError` whose message ends a sentence about why it is not stored, `ToolError`, `StoreError`, or the signal's
 * reason.
 */
export type KeepToolFile = (
  file: { kind: MediaKind; base64: string },
  of: { folder: string; userId: string },
  signal: AbortSignal,
) => Promise<{ attachment: Attachment; picture?: string; problem?: string }>;

/** What a model that cannot see reads in place of pictures. */
export function unseenPictures(count: number): string {
  const pictures = count === 1 ? 'a picture' : `${count} pictures`;
  return `[With this message came ${pictures}. You cannot see pictures: say so if it matters.]`;
}

/** What the model reads in place of pictures that its server could not read. */
export function unreadablePictures(count: number): string {
  const pictures = count === 1 ? 'a picture that' : `${count} pictures that`;
  return `[With this message came ${pictures} could not be read. You have not seen it: say so if it matters.]`;
}

/** Finds the picture of a `ReceivedFile`; undefined when it is gone. Never throws. */
export type Pictures = (ref: string) => Promise<Picture | undefined>;

/** The text of a document. Throws `GatewayError`, whose message says what is wrong with the document. */
export type DocumentText = (bytes: Uint8Array, signal: AbortSignal) => Promise<string>;

/** A file that a request contains. */
export interface InlineFile {
  name: string;
  /** The content; valid base64. */
  base64: string;
}

/**
 * Reads a file for one answer without storing it: a picture, a text, or a recording with speech (`spoken`). Throws
 * `GatewayError`: `file_too_large`, `unreadable_file`; or the signal's reason.
 */
export type ReadInline = (
  file: InlineFile,
  userId: string,
  signal: AbortSignal,
) => Promise<{ name: string; picture?: Picture; text?: string; spoken?: string }>;

/** What the database knows about files that came with messages. Throws only `StoreError`. */
export interface StoredFiles {
  /** Bytes of the files of a user that are at most `days` old. */
  keptBytes(userId: string, days: number): Promise<number>;
  bytesIn(folder: string): Promise<number>;
  /** Files between two ages, by folder and path, starting after `after`. */
  keptBetween(page: {
    fromDays: number;
    toDays: number;
    after: { folder: string; path: string };
    limit: number;
  }): Promise<{ folder: string; path: string }[]>;
  /** Records a file that was sent ahead of its message, or is sent to a chat; a repeat restarts its lifetime. */
  keep(file: { folder: string; path: string; userId: string; bytes: number }): Promise<void>;
  /** Forgets one file, which is gone. */
  drop(folder: string, path: string): Promise<void>;
  /** Forgets at most `limit` of the files that are older; returns their number. */
  forgetOlderFiles(days: number, limit: number): Promise<number>;
}
