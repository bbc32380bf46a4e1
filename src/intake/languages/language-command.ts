/** `/language`: people see and choose the language in which the gateway writes to them. */
import type { Command } from '../../protocol/command.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { AUTO, bestLanguage, type PersonLanguages, recipientOf } from '../../protocol/texts/languages.ts';
import { type Say, textRef } from '../../protocol/texts/say.ts';
import { namesLike } from '../../lib/matching.ts';

/** Makes the command. It throws `GatewayError('unknown_language')`. */
export function languageCommand(languages: PersonLanguages): Command {
  return {
    name: 'language',
    description: 'about.language',
    argument: {
      name: 'language',
      label: 'word.language',
      description: 'argument.language',
      required: false,
      suggests: true,
    },
    suggest: ({ args }) => Promise.resolve(namesLike(args, [AUTO, ...languages.codes()])),
    async run({ args, userId, address, say }) {
      if (args === '') {
        const isOwn = await languages.hasChosen(userId);
        const now = say(isOwn ? 'language.now' : 'language.now_auto', spoken(say));
        return `${now}\n${say('language.others', { languages: listed(languages) })}`;
      }
      if (args.toLowerCase() === AUTO) {
        await languages.choose(userId, undefined);
        const next = languages.say(recipientOf(address, await languages.languageOf(userId)));
        return next('language.auto', { name: spoken(next).name });
      }
      const code = languageNamed(args, languages);
      if (code === undefined)
        throw new GatewayError(
          'unknown_language',
          textRef('language.unknown', { name: args.slice(0, 40), languages: listed(languages) }),
        );
      await languages.choose(userId, code);
      const next = languages.say(recipientOf(address, code));
      return next('language.changed', { name: spoken(next).name });
    },
  };
}

/** The code of a language that someone names by its code, or by its name in any of the languages. */
function languageNamed(text: string, languages: PersonLanguages): string | undefined {
  const wanted = text.toLowerCase();
  const codes = languages.codes();
  const isName = (code: string): boolean =>
    codes.some((reader) => nameOf(code, reader).toLowerCase() === wanted);
  return codes.find(isName) ?? (/^[a-z-]{2,11}$/.test(wanted) ? bestLanguage(wanted, codes) : undefined);
}

function spoken({ language }: Say): { name: string; code: string } {
  return { name: nameOf(language, language), code: language };
}

/** `en (English), de (Deutsch)`. */
function listed(languages: PersonLanguages): string {
  return languages
    .codes()
    .map((code) => `${code} (${nameOf(code, code)})`)
    .join(', ');
}

function nameOf(code: string, reader: string): string {
  return new Intl.DisplayNames([reader], { type: 'language', fallback: 'code' }).of(code) ?? code;
}
