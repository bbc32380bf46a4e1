/** Files in session folders: those that came with messages, those that nodes share, and the folders of deleted sessions. */
import type { StoredFiles } from '../../protocol/media.ts';
import type { Database, Sql } from '../database/database.ts';
import type { RemovedFolders } from '../../protocol/store/ledger.ts';
import { cleanJson } from '../../lib/json/json.ts';
import { type FileStore, MAX_SHARED_BYTES } from '../../protocol/agent/tool.ts';

/** The `StoredFiles` over a database. */
export function createStoredFiles(database: Database): StoredFiles {
  return {
    keptBytes: (userId, days) =>
      database.run(async (sql) => {
        const [row] = await sql<{ bytes: number }[]>`
          select coalesce(sum(bytes), 0)::float8 as bytes from kept_file
          where user_id = ${userId} and kept_at > now() - ${days}::float8 * interval '1 day'`;
        return row?.bytes ?? 0;
      }),
    bytesIn: (folder) =>
      database.run(async (sql) => {
        const [row] = await sql<{ bytes: number }[]>`
          select coalesce(sum(bytes), 0)::float8 as bytes from kept_file where folder = ${folder}`;
        return row?.bytes ?? 0;
      }),
    keptBetween: ({ fromDays, toDays, after, limit }) =>
      database.rows(
        (sql) => sql<{ folder: string; path: string }[]>`
          select folder, path from kept_file
          where kept_at <= now() - ${fromDays}::float8 * interval '1 day'
            and kept_at > now() - ${toDays}::float8 * interval '1 day'
            and (folder, path) > (${after.folder}, ${after.path})
          order by folder, path limit ${limit}`,
      ),
    keep: ({ folder, path, userId, bytes }) =>
      database.write(
        (sql) => sql`
          insert into kept_file (folder, path, user_id, bytes) values (${folder}, ${path}, ${userId}, ${bytes})
          on conflict (folder, path) do update set kept_at = now()`,
      ),
    drop: (folder, path) =>
      database.write((sql) => sql`delete from kept_file where folder = ${folder} and path = ${path}`),
    forgetOlderFiles: (days, limit) =>
      database.count(
        (sql) => sql`
          delete from kept_file where (folder, path) in (
            select folder, path from kept_file
            where kept_at <= now() - ${days}::float8 * interval '1 day' limit ${limit})
          returning path`,
      ),
  };
}

/** The `RemovedFolders` over a database. */
export function createRemovedFolders(database: Database): RemovedFolders {
  return {
    removedFolders: ({ withinMs, after, limit }) =>
      database.run(async (sql) => {
        const rows = await sql<{ folder: string }[]>`
          select folder from removed_folder
          where removed_at > now() - ${withinMs}::float8 * interval '1 millisecond' and folder > ${after}
          order by folder limit ${limit}`;
        return rows.map(({ folder }) => folder);
      }),
  };
}

/** The `FileStore` over a database. */
export function createFileStore(database: Database): FileStore {
  return {
    version: (folder) =>
      database.run(async (sql) => {
        const [row] = await sql<{ version: number }[]>`
          select version from session_folder where folder = ${folder}`;
        return row?.version ?? 0;
      }),
    list: (folder) =>
      database.run(async (sql) => {
        const [row] = await sql<Awaited<ReturnType<FileStore['list']>>[]>`
          select coalesce((select version from session_folder where folder = ${folder}), 0) as version,
            (select coalesce(jsonb_agg(jsonb_build_object('path', path, 'sha256', sha256)), '[]')
              from session_file where folder = ${folder}) as files`;
        return row ?? { version: 0, files: [] };
      }),
    read: (folder, path) =>
      database.run(async (sql) => {
        const [row] = await sql<{ bytes: Buffer }[]>`
          select bytes from session_file where folder = ${folder} and path = ${path}`;
        return row?.bytes;
      }),
    isTooLarge: (folder, path) =>
      database.run(async (sql) => {
        const rows = await sql`
          select from kept_file where folder = ${folder} and path = ${path} and bytes > ${MAX_SHARED_BYTES}`;
        return rows.length > 0;
      }),
    save: (folder, change) => database.run((sql) => save(sql, folder, change)),
  };
}

/** A repeat counts the version once more, which makes the requesting node look again. */
async function save(
  sql: Sql,
  folder: string,
  { put: newFiles, gone: oldPaths }: Parameters<FileStore['save']>[1],
): ReturnType<FileStore['save']> {
  const files = newFiles.map(({ path, sha256, bytes }) => ({
    path,
    sha256,
    base64: bytes.toString('base64'),
  }));
  const [row] = await sql<{ version: number }[]>`
    with counted as (
      insert into session_folder (folder, version)
      select ${folder}, 1 where not exists (select from removed_folder where folder = ${folder})
      on conflict (folder) do update set version = session_folder.version + 1 returning folder, version),
    dropped as (
      delete from session_file using counted where session_file.folder = counted.folder
        and path in (select jsonb_array_elements_text(${cleanJson(oldPaths)}::jsonb))),
    kept as (
      insert into session_file (folder, path, sha256, bytes)
      select counted.folder, path, sha256, decode(base64, 'base64')
      from counted, jsonb_to_recordset(${cleanJson(files)}::jsonb) as given(path text, sha256 text, base64 text)
      on conflict (folder, path) do update set sha256 = excluded.sha256, bytes = excluded.bytes)
    select version from counted`;
  return row?.version ?? 0;
}
