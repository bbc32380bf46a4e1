/** How many tokens a text is likely to be, without a tokenizer (B-29). */

/** UTF-8 bytes / 3, rounded up: conservative for English, about 1 per CJK character and 0.67 per Cyrillic letter. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text, 'utf8') / 3);
}
