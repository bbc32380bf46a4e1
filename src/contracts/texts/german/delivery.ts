/** What stands around answers in a chat, in German. */
import type { delivery as english } from '../english/delivery.ts';
import type { TranslationOf } from '../template.ts';

export const delivery: TranslationOf<typeof english> = {
  'button.stop': 'Anhalten',
  'button.regenerate': 'Neu antworten',
  'card.title': 'Plan: {goal}',
  'card.steps': { one: '{count} Schritt', other: '{count} Schritte' },
  'card.done': { one: '{done} von {count} Schritt erledigt', other: '{done} von {count} Schritten erledigt' },
  'card.paused': '⏸ Angehalten · {progress}',
  'card.ended': '■ Beendet · {progress}',
  'card.completed': '✔ Fertig · {progress}',
  'card.cancelled': '✖ Abgebrochen · {progress}',
  'card.not_begun': '{steps} · nicht begonnen',
  'card.runs': { one: '{steps} · einmal ausgeführt', other: '{steps} · {count}-mal ausgeführt' },
  'card.corrections': 'Übrige Korrekturen: {left} von {most}',
  'card.attempt': '{number}. Versuch',
  'card.pause': 'Pause',
  'card.skip': 'Schritt {number} überspringen',
  'card.run': 'Ausführen',
  'card.run_again': 'Noch einmal',
  'card.stepwise': 'Schritt für Schritt',
  'card.edit': 'Ändern',
  'card.cancel': 'Verwerfen',
  'activity.more': 'und {more} weitere',
  'code.follows': {
    one: '*Der Code ({count} Zeile) folgt als Datei `{name}`.*',
    other: '*Der Code ({count} Zeilen) folgt als Datei `{name}`.*',
  },
  'file.not_sent': 'Die Datei {name} konnte nicht geschickt werden: {why}.',
  'file.not_shown': '{alt} ({path} wird nicht gezeigt: {why})',
  'file.refused_as_text': 'das Netzwerk nimmt sie nicht an; ihr Inhalt steht oben',
  'file.refused': 'das Netzwerk nimmt sie nicht an',
  'file.none_here': 'dieser Chat nimmt keine Dateien',
  'file.too_large': 'sie hat {size}, und dieser Chat nimmt Dateien bis {most}',
  'file.changed': 'sie wurde geändert, nachdem sie geschickt war',
  'file.gone': 'sie ist nicht mehr da',
  'file.missing': 'eine solche Datei gibt es nicht',
  'file.foreign': 'sie gehört nicht zu diesem Chat',
  'file.empty': 'sie ist leer',
  'file.too_many': 'eine Antwort zeigt höchstens {most} Dateien',
  'missed.refused': 'Diese Antwort lässt sich hier leider nicht zeigen. Sie gehört zum Turn {turn}.',
  'missed.answers': {
    one: 'Eine frühere Antwort ließ sich hier nicht zustellen. Wer dieses Gateway betreibt, kann nachschicken, was fehlt: {parley} dead-letters replay --all',
    other:
      '{count} frühere Antworten ließen sich hier nicht zustellen. Wer dieses Gateway betreibt, kann nachschicken, was fehlt: {parley} dead-letters replay --all',
  },
  'missed.notice': 'Eine Antwort ließ sich nicht zustellen: {why}',

  'stream.own': 'Hier entscheidet jedes Programm selbst, wie es Antworten zeigt.',
  'stream.now': 'Antworten erscheinen hier {how} ({mode}). Du wählst mit {choices}.',
  'stream.changed': 'Von der nächsten Antwort an erscheinen sie hier {how}.',
  'stream.unknown': 'Hier nimmt {/stream} {modes}.',
  'stream.draft': 'als Entwurf, der zur Nachricht wird, wenn er fertig ist',
  'stream.edit': 'in einer Nachricht, die wächst',
  'stream.off': 'erst, wenn sie fertig sind',
  'voice.on':
    'Antworten werden hier auch gesprochen, als Sprachnachricht nach ihrem Text. {/voice} off beendet das.',
  'voice.off': 'Antworten werden hier nicht gesprochen. {/voice} on ändert das.',
  'voice.usage': 'Schreib {/voice} on oder {/voice} off.',
  'voice.cannot':
    'Dieses Gateway kann nicht sprechen: Setz speech.baseUrl in config.json auf einen Server für Sprachausgabe.',
  'speech.beginning': '*Der Anfang, gesprochen; die ganze Antwort ist der Text darüber.*',
  'speech.no_sound':
    'Der Sprachserver hat mit etwas anderem als Ton geantwortet: prüfe speech.baseUrl in config.json.',
  'speech.no_key': 'Der Sprachserver weist das Gateway ab: setze speech.apiKeyEnv in config.json.',
  'speech.bad_key': 'Der Sprachserver weist das Gateway ab: prüfe {name}.',
  'speech.busy': 'Der Sprachserver hat gerade zu viel zu tun.',
  'speech.failed': 'Der Sprachserver ist mit dem Status {status} gescheitert{reason}.',
  'speech.refused':
    'Der Sprachserver lehnt einen Text für das Modell „{model}“ und die Stimme „{voice}“ ab: prüfe speech in config.json{reason}.',
  'speech.odd_status':
    'Der Sprachserver hat mit dem Status {status} geantwortet: prüfe speech.baseUrl in config.json.',
  'speech.unreachable': 'Der Sprachserver ist nicht erreichbar{code}: prüfe speech.baseUrl in config.json.',
  'speech.slow': {
    one: 'Der Sprachserver hat länger als {count} Minute gebraucht.',
    other: 'Der Sprachserver hat länger als {count} Minuten gebraucht.',
  },
};
