/** The folder of a skill, whose owner may be another one than the operator who adds it. */
import { renameSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { readSkillFolder } from '../../src/skills/read-folder.ts';
import { campaignSize } from '../campaign.ts';

/** Reads during which a folder becomes a link. */
const READS = campaignSize(10_000);
/** Turns of the event loop after which it does, one more with each read: at any time while the folder is read, and after it. */
const MOMENTS = 60;

it.runIf(process.platform === 'linux')(
  `holds nothing of elsewhere, although a folder in it becomes a link during ${READS} reads`,
  async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'parley-skill-'));
    onTestFinished(() => rm(root, { recursive: true }));
    const [folder, real, link] = ['tidy/dir', 'real', 'link'].map((name) => path.join(root, name));
    for (const [place, text] of [
      [path.join(root, 'outside'), 'outside'],
      [folder!, 'inside'],
    ] as const) {
      await mkdir(place, { recursive: true });
      await writeFile(path.join(place, 'key'), text);
    }
    await writeFile(path.join(root, 'tidy/SKILL.md'), '---\nname: tidy\ndescription: Tidies up.\n---\n');
    await symlink(path.join(root, 'outside'), link!);
    const texts = new Set<string>();
    for (let n = 0; n < READS; n += 1) {
      const reading = readSkillFolder(path.join(root, 'tidy')).catch(() => undefined);
      for (let moment = 0; moment < n % MOMENTS; moment += 1) await turn();
      renameSync(folder!, real!);
      renameSync(link!, folder!);
      for (const { file, bytes } of (await reading)?.contents ?? [])
        if (file === 'dir/key') texts.add(bytes.toString());
      renameSync(folder!, link!);
      renameSync(real!, folder!);
    }
    expect(texts).toEqual(new Set(['inside']));
  },
);
