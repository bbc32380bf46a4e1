/** The files in session folders, which the nodes of a database share this way. */
import { cleanJson } from '../../../../lib/json/json.ts';
import type { FileStore } from '../../../../protocol/agent/tool.ts';
import type { Database, Sql } from '../../../database/database.ts';

/** The `FileStore` over a database. */
export function createFileStore(database: Database): FileStore {
  return {
    version: (folder) =>
      database.run(async (sql) => {
        const [row] = await sql<
          { version: number }[]
        >`select version from session_folder where folder = ${folder}`;
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
    save: (folder, change) => database.run((sql) => save(sql, folder, change)),
  };
}

/** A repeat counts the version once more, which makes the requesting node look again. */
async function save(
  sql: Sql,
  folder: string,
  { put, gone }: Parameters<FileStore['save']>[1],
): ReturnType<FileStore['save']> {
  const files = put.map(({ path, sha256, bytes }) => ({ path, sha256, base64: bytes.toString('base64') }));
  const [row] = await sql<{ version: number }[]>`
    with counted as (
      insert into session_folder (folder, version)
      select ${folder}, 1 where not exists (select from removed_folder where folder = ${folder})
      on conflict (folder) do update set version = session_folder.version + 1 returning folder, version),
    dropped as (
      delete from session_file using counted where session_file.folder = counted.folder
        and path in (select jsonb_array_elements_text(${cleanJson(gone)}::jsonb))),
    kept as (
      insert into session_file (folder, path, sha256, bytes)
      select counted.folder, path, sha256, decode(base64, 'base64')
      from counted, jsonb_to_recordset(${cleanJson(files)}::jsonb) as given(path text, sha256 text, base64 text)
      on conflict (folder, path) do update set sha256 = excluded.sha256, bytes = excluded.bytes)
    select version from counted`;
  return row?.version ?? 0;
}
