/** Scripts with which shells complete the commands of `parley`. */
import { GatewayError } from '../protocol/errors.ts';
import { PARLEY } from '../protocol/texts/parley.ts';
import { commandNames, wordsAfter } from './command-list.ts';

const SCRIPTS: Readonly<Record<string, () => string>> = { bash, zsh, fish };

/** The script for a shell. Throws `GatewayError('usage')` for another one. */
export function completionCommand(args: readonly string[]): string {
  const [shell = '', ...more] = args;
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined || more.length > 0) {
    throw new GatewayError('usage', `Expected: completion bash|zsh|fish. See: ${PARLEY} --help`);
  }
  return script();
}

function bash(): string {
  const cases = commandNames().map((name) => `    ${name}) words="${wordsAfter(name).join(' ')}" ;;`);
  return `# Completes parley in bash: source <(${PARLEY} completion bash)
_parley() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commandNames().join(' ')} --help --version" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _parley parley
`;
}

function zsh(): string {
  const cases = commandNames().map((name) => `    ${name}) compadd -- ${wordsAfter(name).join(' ')} ;;`);
  return `#compdef parley
# Completes parley in zsh: source <(${PARLEY} completion zsh)
_parley() {
  if (( CURRENT == 2 )); then
    compadd -- ${commandNames().join(' ')} --help --version
    return
  fi
  case "$words[2]" in
${cases.join('\n')}
  esac
  _files
}
compdef _parley parley
`;
}

function fish(): string {
  const lines = commandNames().flatMap((name) => [
    `complete -c parley -n __fish_use_subcommand -a ${name}`,
    `complete -c parley -n '__fish_seen_subcommand_from ${name}' -a '${wordsAfter(name).join(' ')}'`,
  ]);
  return `# Completes parley in fish: ${PARLEY} completion fish | source\n${lines.join('\n')}\n`;
}
