/** Why a file of a message could not be used, or a recording not be listened to: each ends a sentence about the file. */

export const files = {
  'upload.problem': '⚠ {name}: {why}.',
  'upload.stopped': 'fetching it was stopped',
  'upload.too_many': 'only {most} files of a message are read',
  'upload.too_large': 'it is larger than {most} MB (media.maxFileMb in config.json)',
  'upload.person_full': 'your files here have reached {most} MB together; they are removed after {days} days',
  'upload.empty': 'it is empty',
  'upload.folder_full': 'the folder of this session is full; {/help} shows how to start another one',
  'upload.not_fetched': 'it could not be fetched',
  'upload.not_fetched_because': 'it could not be fetched: {why}',
  'upload.other': '{why}',
  'upload.foreign': 'it is not a file of this session',
  'upload.gone': 'it is no longer here',
  'upload.no_download': 'this channel cannot fetch files',
  'upload.fetched_slowly': 'fetching it takes too long',
  'upload.busy': 'too many files are being read at the moment; please send it again later',
  'upload.read_slowly': 'reading it takes too long',
  'upload.damaged': 'it cannot be read: it is damaged, or needs too much memory',
  'upload.unreadable': 'cannot be read ({why})',
  'upload.no_text':
    'it is not a text in any character set that I can read; save it as UTF-8 and send it again',
  'hear.none':
    'it is a recording, and this gateway cannot listen: set transcription.baseUrl in config.json to a speech-to-text server',
  'hear.not_set':
    'This gateway cannot listen: set transcription.baseUrl in config.json to a speech-to-text server.',
  'hear.nothing': 'nothing is said in it',
  'hear.failed': 'it could not be listened to: {why}',
  'hear.no_transcript':
    'The speech-to-text server answered with something other than a transcript: check transcription.baseUrl in config.json.',
  'hear.unauthorized': 'The speech-to-text server refuses the gateway: check TRANSCRIPTION_API_KEY.',
  'hear.not_found':
    'The speech-to-text server has no /audio/transcriptions there, or no model "{model}": check transcription in config.json{reason}.',
  'hear.refused_large': 'The recording is too large for the speech-to-text server.',
  'hear.busy': 'The speech-to-text server is too busy right now.',
  'hear.broken': 'The speech-to-text server failed with status {status}{reason}.',
  'hear.unreadable': 'The speech-to-text server cannot read this recording{reason}.',
  'hear.odd_status':
    'The speech-to-text server answered with status {status}: check transcription.baseUrl in config.json.',
  'hear.unreachable':
    'The speech-to-text server cannot be reached{reason}: check transcription.baseUrl in config.json.',
  'hear.too_long': {
    one: 'Recordings may be at most one minute long (transcription.maxMinutes in config.json).',
    other: 'Recordings may be at most {count} minutes long (transcription.maxMinutes in config.json).',
  },
  'hear.too_large': 'Recordings can be at most 25 MB.',
  'hear.too_slow': {
    one: 'The speech-to-text server took longer than a minute.',
    other: 'The speech-to-text server took longer than {count} minutes.',
  },
  'hear.endless': 'The speech-to-text server sent an endless answer.',
} as const;
