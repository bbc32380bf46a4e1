/** What no user should ever read. */

/** Markup of models. */
export const MARKUP =
  /<\/?(think|thinking|thought|reasoning|seed:think|tool_call|function)\b|<\|[a-z_]+\|?>|\[\/?(THINK|TOOL_CALLS|ARGS)\]|<｜|◁|<unused9|<\/s>|<end_of_turn>/i;
/** Output of a validator. */
export const VALIDATOR_TEXT = /✖|Invalid input|expected \w+, received|Zod|→ at /;
/** Addresses and settings. */
export const INNER_TEXT = /127\.0\.0\.1|localhost|https?:|OLLAMA_HOST|OPENAI_|LLM_STREAM|providers\.|sk-/;
