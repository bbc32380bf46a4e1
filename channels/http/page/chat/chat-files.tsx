/** The whole chat as a file, and the files of its folder. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { api } from '../api.ts';
import { messageOf } from '../failures/in-place.ts';
import { Dialog, showDialog } from '../parts/dialog.tsx';
import { Act, Moment, Row, Rows } from '../parts/rows.tsx';
import { say } from '../texts.ts';
import { fileSize, saveAs } from './files.tsx';

interface ListedFile {
  file: string;
  name: string;
  bytes: number;
  changedAt: string;
}

/** Characters of a title that its file has in its name. */
const NAME_LENGTH = 80;

/** Saves the chat as Markdown or JSON under its title. Rejects with `ApiError`. */
export async function exportChat(key: string, title: string, format: 'md' | 'json'): Promise<void> {
  const name =
    title
      .replaceAll(/[^\p{L}\p{N}._-]+/gu, ' ')
      .trim()
      .slice(0, NAME_LENGTH) || 'chat';
  saveAs(await api.export(key, format), `${name}.${format}`);
}

/** Opens the list of the chat's files. */
export function showChatFiles(key: string): void {
  const listed = signal<{ files: ListedFile[]; more: boolean } | undefined>(undefined);
  const problem = signal('');
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    problem.value = '';
    await work().catch((error: unknown) => (problem.value = messageOf(error)));
  };
  void attempt(async () => void (listed.value = await api.files(key)));
  const save = ({ file, name }: ListedFile): void =>
    void attempt(async () => saveAs(await api.file(key, file), name));
  showDialog((close) => (
    <Dialog class="details" title={say('page.details.files')} close={close}>
      <div aria-live="polite">
        <Files listed={listed.value} hasFailed={problem.value !== ''} save={save} />
      </div>
      <p class="error-text" role="alert">
        {problem}
      </p>
    </Dialog>
  ));
}

interface FilesProps {
  listed: { files: ListedFile[]; more: boolean } | undefined;
  hasFailed: boolean;
  save: (file: ListedFile) => void;
}

function Files({ listed, hasFailed, save }: FilesProps): JSX.Element | null {
  if (listed === undefined) return hasFailed ? null : <p>{say('page.details.reading')}</p>;
  return (
    <>
      <Rows empty={say('page.details.no_files')}>
        {listed.files.map((file) => (
          <Row
            key={file.file}
            title={file.name}
            about={[`${fileSize(file.bytes)} · `, <Moment at={file.changedAt} />]}
          >
            <Act
              label={say('page.details.download')}
              name={say('page.files.download', { name: file.name })}
              press={() => save(file)}
            />
          </Row>
        ))}
      </Rows>
      {listed.more && <p class="quiet">{say('page.details.more', { count: listed.files.length })}</p>}
    </>
  );
}
