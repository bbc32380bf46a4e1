/** What chats and their channels are called. */
import { signal } from '@preact/signals';
import type { HealthReport } from '../../../../src/protocol/gateway-api.ts';
import type { Session } from '../api.ts';

const TITLE_LENGTH = 60;
/** Labels of the channels by name, as the gateway's health report gives them. */
const labels = signal<Readonly<Record<string, string>>>({});

/** Stores the labels of a health report. */
export function setChannelLabels(channels: HealthReport['channels']): void {
  const entries = Object.entries(channels).map(([name, { label }]) => [name, label]);
  const next: Record<string, string> = { ...labels.peek(), ...Object.fromEntries(entries) };
  if (JSON.stringify(next) !== JSON.stringify(labels.peek())) labels.value = next;
}

/** The label of a session's channel; until the first health report, its name. */
export function channelOf(key: string): string {
  const name = key.slice(0, key.indexOf(':'));
  return labels.value[name] ?? name;
}

/** The name of a chat: its title, else the first line of its first message. */
export function nameOf({
  key,
  title,
  preview,
}: Pick<Session, 'title' | 'preview'> & { key: string }): string {
  if (title !== null && title !== '') return title;
  const line = preview.trim().split('\n', 1)[0] ?? '';
  if (line === '') return key.slice(key.indexOf(':') + 1);
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH).trimEnd()}…` : line;
}
