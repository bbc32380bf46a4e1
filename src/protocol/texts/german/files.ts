/** Warum sich eine Datei nicht verwenden oder eine Aufnahme nicht anhören ließ. */
import type { files as english } from '../english/providers.ts';
import type { TranslationOf } from '../template.ts';

export const files: TranslationOf<typeof english> = {
  'upload.problem': '⚠ {name}: {why}.',
  'upload.stopped': 'das Holen wurde angehalten',
  'upload.too_many': 'von einer Nachricht werden nur {most} Dateien gelesen',
  'upload.too_large': 'sie ist größer als {most} MB (media.maxFileMb in config.json)',
  'upload.person_full':
    'deine Dateien hier haben zusammen {most} MB erreicht; nach {days} Tagen werden sie entfernt',
  'upload.empty': 'sie ist leer',
  'upload.folder_full': 'der Ordner dieses Gesprächs ist voll; {/help} sagt, wie du ein neues beginnst',
  'upload.not_fetched': 'sie ließ sich nicht holen',
  'upload.not_fetched_because': 'sie ließ sich nicht holen: {why}',
  'upload.other': '{why}',
  'upload.foreign': 'sie ist keine Datei dieses Gesprächs',
  'upload.gone': 'sie ist nicht mehr da',
  'upload.no_download': 'dieser Kanal kann keine Dateien holen',
  'upload.fetched_slowly': 'sie zu holen dauert zu lange',
  'upload.busy': 'gerade werden zu viele Dateien gelesen; bitte schick sie später noch einmal',
  'upload.read_slowly': 'sie zu lesen dauert zu lange',
  'upload.damaged': 'sie lässt sich nicht lesen: Sie ist beschädigt oder braucht zu viel Speicher',
  'upload.unreadable': 'sie lässt sich nicht lesen ({why})',
  'upload.no_text':
    'sie ist kein Text in einem Zeichensatz, den ich lesen kann; speichere sie als UTF-8 und schicke sie noch einmal',
  'hear.none':
    'sie ist eine Aufnahme, und dieses Gateway kann nicht zuhören: setz transcription.baseUrl in config.json auf einen Server, der Sprache in Text verwandelt',
  'hear.not_set':
    'Dieses Gateway kann nicht zuhören: Setz transcription.baseUrl in config.json auf einen Server für Spracherkennung.',
  'hear.nothing': 'darin wird nichts gesagt',
  'hear.failed': 'sie ließ sich nicht anhören: {why}',
  'hear.no_transcript':
    'Der Server für Spracherkennung hat etwas anderes geantwortet als einen Text der Aufnahme: prüf transcription.baseUrl in config.json.',
  'hear.unauthorized': 'Der Server für Spracherkennung weist das Gateway ab: prüf TRANSCRIPTION_API_KEY.',
  'hear.not_found':
    'Der Server für Spracherkennung kennt dort kein /audio/transcriptions oder kein Modell "{model}": prüf transcription in config.json{reason}.',
  'hear.refused_large': 'Die Aufnahme ist dem Server für Spracherkennung zu groß.',
  'hear.busy': 'Der Server für Spracherkennung hat gerade zu viel zu tun.',
  'hear.broken': 'Der Server für Spracherkennung ist mit dem Status {status} gescheitert{reason}.',
  'hear.unreadable': 'Der Server für Spracherkennung kann diese Aufnahme nicht lesen{reason}.',
  'hear.odd_status':
    'Der Server für Spracherkennung hat mit dem Status {status} geantwortet: prüf transcription.baseUrl in config.json.',
  'hear.unreachable':
    'Der Server für Spracherkennung ist nicht zu erreichen{reason}: prüf transcription.baseUrl in config.json.',
  'hear.too_long': {
    one: 'Aufnahmen dürfen höchstens eine Minute lang sein (transcription.maxMinutes in config.json).',
    other: 'Aufnahmen dürfen höchstens {count} Minuten lang sein (transcription.maxMinutes in config.json).',
  },
  'hear.too_large': 'Aufnahmen dürfen höchstens 25 MB haben.',
  'hear.too_slow': {
    one: 'Der Server für Spracherkennung hat länger gebraucht als eine Minute.',
    other: 'Der Server für Spracherkennung hat länger gebraucht als {count} Minuten.',
  },
  'hear.endless': 'Der Server für Spracherkennung hat ohne Ende geantwortet.',
};
