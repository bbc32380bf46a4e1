/** What people read of errors, in German. */
import type { failures as english } from '../english/providers.ts';
import type { TranslationOf } from '../template.ts';

export const failures: TranslationOf<typeof english> = {
  'failure.answer': 'Das konnte ich leider nicht beantworten. {why}',
  'failure.try_in': '{what} Versuch es in {time} noch einmal.',
  'failure.timeout_first_chunk':
    'Das Modell hat nicht rechtzeitig angefangen zu antworten. Versuch es bitte noch einmal.',
  'failure.timeout_first_chunk_plain': 'Das Modell hat nicht rechtzeitig angefangen zu antworten.',
  'failure.timeout_chunk': 'Das Modell ist mitten in seiner Antwort verstummt. Versuch es bitte noch einmal.',
  'failure.timeout_chunk_plain': 'Das Modell ist mitten in seiner Antwort verstummt.',
  'failure.context_overflow':
    'Das ist für das Modell zu lang. Schick eine kürzere Nachricht, oder fang mit {/new} neu an.',
  'failure.message_too_large':
    'Diese Nachricht ist für das Modell zu lang: etwa {tokens} Tokens, und Platz ist für {room}. Schick sie in kleineren Teilen, oder wähle ein Modell mit größerem Fenster.',
  'failure.window_too_small':
    'Das Fenster des Modells ist zu klein für den Prompt dieses Profils und was die Anfrage gesammelt hat: Wähle ein Modell mit größerem Fenster, oder starte seinen Server mit einem.',
  'failure.unavailable': 'Das Modell ist gerade nicht erreichbar. Versuch es bitte später noch einmal.',
  'failure.unavailable_plain': 'Das Modell ist gerade nicht erreichbar.',
  'failure.out_of_memory':
    'Das Modell braucht mehr Speicher, als sein Rechner frei hat. Versuch es bitte später noch einmal, oder wähle ein anderes.',
  'failure.out_of_memory_plain': 'Das Modell braucht mehr Speicher, als sein Rechner frei hat.',
  'failure.rate_limited': 'Das Modell nimmt gerade keine weiteren Anfragen an.',
  'failure.quota_exceeded':
    'Das Kontingent für das Modell ist aufgebraucht. Wer dieses Gateway betreibt, muss es erneuern.',
  'failure.unauthorized': 'Das Modell weist dieses Gateway ab. Wer es betreibt, muss den Schlüssel prüfen.',
  'failure.unknown_model': 'Ein solches Modell gibt es hier nicht. Wähle ein anderes.',
  'failure.bad_request': 'Diese Anfrage kann das Modell nicht bearbeiten.',
  'failure.bad_response': 'Die Antwort des Modells war kaputt. Versuch es bitte noch einmal.',
  'failure.bad_response_plain': 'Die Antwort des Modells war kaputt.',
  'failure.aborted': 'Der Aufruf des Modells wurde angehalten.',
  'failure.store': 'Das Gateway erreicht seine Datenbank gerade nicht. Versuch es bitte später noch einmal.',
  'failure.config': 'Das Gateway ist dafür nicht eingerichtet.',
  'failure.in_words': '{what} Der Server sagt: {words}',
  'failure.sign_in':
    'Der Modellserver ist nicht angemeldet. Wer ihn betreibt, muss dort `ollama signin` ausführen.',
  'failure.detailed': '{what} ({detail})',

  'time.seconds': '{seconds} s',
  'time.minutes': { one: '{count} Minute', other: '{count} Minuten' },
  'time.hours': { one: '{count} Stunde', other: '{count} Stunden' },
};
