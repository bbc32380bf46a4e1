/** What a newcomer asks first: something with three steps, on a gateway that no one has configured. */
import type { FakeOllama } from '../../fakes/ollama/ollama.ts';
import type { FakeWebsite } from '../../fakes/network/web-pages.ts';

/** What the model says to a request with this tag, until it is done; `hold` delays the agent's first call. */
export function scriptThreeSteps(
  ollama: FakeOllama,
  website: FakeWebsite,
  { tag, hold = false }: { tag: string; hold?: boolean },
): void {
  website.serves('/bread', '<h1>Bread</h1><p>Bread costs 3 euros. See <a href="/rye">rye</a>.</p>');
  website.serves('/rye', '<h1>Rye</h1><p>Rye costs 4 euros.</p>');
  const todo = (index: number, status: string) => ({
    name: 'todo',
    args: { action: 'update', index, status },
  });
  const call = (name: string, args: object) => ({ name, args });
  const file = `${tag.replaceAll(' ', '-')}.md`;
  const content = '# Prices\n\n| bread | 3 euros |\n|---|---|\n| rye | 4 euros |\n';
  const answers: Parameters<FakeOllama['answer']>[0][] = [
    { text: 'I will plan this.', toolCalls: [call('plan', { goal: `Make ${tag} and send it` })] },
    'Three steps.\nREFLECT: no',
    `Steps\n1. [TOOL: web_fetch] Read the page about bread\n2. [AGENT: coder] Write ${tag} into a file\n3. [TOOL: send_file] Send the file`,
    { toolCalls: [todo(1, 'in_progress'), call('web_fetch', { url: `${website.origin}/bread` })] },
    {
      toolCalls: [
        todo(1, 'done'),
        todo(2, 'in_progress'),
        call('spawn_agent', { task: `Write ${tag} into ${file}`, profile_id: 'coder' }),
      ],
    },
    { toolCalls: [call('web_fetch', { url: `${website.origin}/rye` })], hold },
    { toolCalls: [call('write_file', { path: file, content })] },
    `The prices are in ${file}.`,
    { toolCalls: [todo(2, 'done'), todo(3, 'in_progress'), call('send_file', { path: file })] },
    { toolCalls: [todo(3, 'done')] },
    'Bread costs **3 euros** and rye **4 euros**. The list is in the file above.',
  ];
  for (const answer of answers) ollama.answer(answer, { when: tag });
}

/** How the newcomer asks. */
export function askForThreeSteps(website: FakeWebsite, tag: string): string {
  return `Please read ${website.origin}/bread, write ${tag} into a file and send it to me.`;
}
