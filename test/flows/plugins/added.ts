/** Homes to which plug-ins of the repository were added, as an owner adds them, and what happens to their processes. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { openDialog } from '../../../src/commands/init/dialog.ts';
import { pluginCommand } from '../../../src/commands/packages/plugin.ts';
import { openBuiltPlugin } from '../../fakes/plugins/hosted-channel.ts';

/** Builds a plug-in, and adds it to a home before its gateway starts; `file` is then its `config.json`. */
export function withPlugin(name: string, file: object): (home: string) => Promise<void> {
  return async (home) => {
    const built = await openBuiltPlugin(name);
    try {
      const dialog = openDialog(undefined, new PassThrough().resume());
      await pluginCommand(['add', built.folder, '--yes'], { GATEWAY_HOME: home }, dialog);
    } finally {
      await built.remove();
    }
    await writeFile(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
  };
}

/** Kills the process of a plug-in as `kill -9` does. Throws if none runs. */
export async function killPlugin(home: string, name: string): Promise<void> {
  const folder = path.join(home, 'plugins', name);
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const [stat, command] = await Promise.all(
      ['stat', 'cmdline'].map((file) => readFile(`/proc/${entry}/${file}`, 'utf8').catch(() => '')),
    );
    const parent = Number(/\) \S (\d+)/.exec(stat ?? '')?.[1]);
    if (parent !== process.pid || command?.includes(folder) !== true) continue;
    // With its group: it runs inside of bubblewrap.
    process.kill(-Number(entry), 'SIGKILL');
    return;
  }
  throw new Error(`no process of ${name}`);
}
