/** How the fake Slack describes what it holds: people, messages and files. */
import type { FakeFile, FakeMessage, FakePerson, Workspace } from './workspace.ts';

/** A person as `users.info` shows them. */
export function describePerson({ teamId }: Workspace, person: FakePerson, withLocale: boolean): object {
  const { id, name, locale = 'en-US', role, isDeleted = false, botId } = person;
  const about = { id, team_id: person.teamId ?? teamId, name: name.toLowerCase(), deleted: isDeleted };
  // Slack leaves the roles out for people who are gone.
  const roles = !isDeleted && {
    is_admin: role === 'admin' || role === 'owner',
    is_owner: role === 'owner',
    is_primary_owner: false,
    is_restricted: role === 'guest',
    is_ultra_restricted: false,
  };
  return {
    ...about,
    ...roles,
    is_bot: botId !== undefined,
    is_stranger: person.teamId !== undefined,
    profile: { display_name: name, real_name: name },
    // Only if requested.
    ...(withLocale && { locale }),
  };
}

/** A message as events and histories show it. */
export function shown(message: FakeMessage, root = '', withMetadata = false): Record<string, unknown> {
  const { ts, user, botId, subtype, text, blocks, attachments, threadTs, metadata, files, editedAt } =
    message;
  return {
    type: 'message',
    ts,
    user,
    text,
    ...(subtype !== undefined && { subtype }),
    ...(botId !== undefined && { bot_id: botId }),
    ...(blocks !== undefined && { blocks }),
    ...(attachments !== undefined && { attachments }),
    ...(threadTs !== undefined && { thread_ts: threadTs }),
    ...(editedAt !== undefined && { edited: { user, ts: editedAt } }),
    ...(files.length > 0 && { files: files.map((file) => describeFile(file, root)) }),
    ...(withMetadata && metadata !== undefined && { metadata }),
  };
}

export function describeFile(file: FakeFile, root: string): object {
  const url = `${root}/files-pri/${file.id}/${encodeURIComponent(file.name)}`;
  const where = [...file.shownIn];
  return {
    id: file.id,
    name: file.name,
    title: file.name,
    mimetype: file.mimetype,
    size: file.bytes.length,
    mode: 'hosted',
    url_private: url,
    url_private_download: url,
    channels: where.filter((id) => id.startsWith('C')),
    ims: where.filter((id) => id.startsWith('D')),
    ...(file.subtype !== undefined && { subtype: file.subtype }),
  };
}
