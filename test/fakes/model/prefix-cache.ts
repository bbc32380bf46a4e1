/** What a model server with one slot keeps of a prompt: the next one is only read from where it differs. */

/** The parts of a request that a chat template writes, in its order: tools and system message, then the conversation. */
interface Rendered {
  tools?: unknown;
  messages: readonly { role: string; content?: string | null | undefined }[];
}

/** Characters per token, as the fakes count them. */
const CHARS_PER_TOKEN = 4;

/**
 * Returns the tokens of a prompt that are not in the cache, and keeps the prompt (ggml-org/llama.cpp, tools/server: the
 * longest common prefix of a slot is reused, `cache_prompt` is on by default). A template writes the tools into the
 * system part. The generated answer, which a real slot keeps as well, is not counted as kept.
 */
export function createPrefixCache(): (body: Rendered) => number {
  let kept = '';
  return ({ tools, messages }) => {
    const parts = messages.map(({ role, ...rest }) => `<${role}>${JSON.stringify(rest)}`);
    const prompt = `${tools === undefined ? '' : JSON.stringify(tools)}${parts.join('')}`;
    let common = 0;
    while (common < prompt.length && prompt[common] === kept[common]) common += 1;
    kept = prompt;
    return Math.ceil((prompt.length - common) / CHARS_PER_TOKEN);
  };
}
