/** Where the words that the code does not use are found, and where not. */
import { describe, expect, it } from 'vitest';
import { bannedWordsIn } from './vocabulary.ts';

describe('a banned word', () => {
  it.each([
    ['an identifier', 'src/a.ts', 'const openDoors = makeCREW();', ['doors', 'crew']],
    ['a comment', 'src/a.ts', '// Mends the fault.', ['mends', 'fault']],
    ['a phrase', 'docs/a.md', 'It read words of others.', ['words of others']],
    ['a path', 'test/plan-seats.ts', '', ['seats']],
    [
      'a name of plain words',
      'src/a.ts',
      'const toldAt = announce(carryOut);',
      ['announce', 'carry out', 'told'],
    ],
    [
      'a name of what has another term',
      'src/question-signs.ts',
      'if (isSign) escapeWords(wordsBelow(node));',
      ['signs', 'question signs', 'is sign', 'escape words'],
    ],
    [
      'nothing, where someone signs something, or words are meant',
      'src/a.ts',
      '// It signs in who isSignedIn; the words for it are the words of a link: isSignIn(words);',
      [],
    ],
    [
      'nothing, where they are a sentence',
      'src/a.ts',
      '// Told to announce it, and to carry out a plan.',
      [],
    ],
    ['nothing, where the word has its plain meaning', 'test/a.ts', "say('Hello world'); outdoors();", []],
  ])('is found in %s', (_, file, text, words) => {
    const found = bannedWordsIn(file, text).map((line) => /"(.*)"/.exec(line)?.[1]);
    expect(found).toEqual(words);
  });
});
