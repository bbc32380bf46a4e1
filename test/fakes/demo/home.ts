/** The home of `npm run demo`: its settings enable planning, and failed steps are corrected. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';

const CONFIG = {
  tools: { enabled: ['list_dir', 'read_file', 'write_file', 'todo', 'memory', 'cron'] },
  turns: { mode: 'agentic' },
};
const PROFILE = { planningEnabled: true, planningPhase2Enabled: true };

/** Writes the settings into an empty folder. Rejects with the file system's error. */
export async function writeDemoHome(home: string): Promise<void> {
  await writeFile(path.join(home, 'config.json'), JSON.stringify(CONFIG), { mode: 0o600 });
  const profile = path.join(home, 'profiles', 'default');
  await mkdir(profile, { recursive: true });
  await writeFile(path.join(profile, 'config.json'), JSON.stringify(PROFILE));
}
