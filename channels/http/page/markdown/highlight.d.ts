/** The files of the library that colours code; the package has no types for them. */
declare module '@highlightjs/cdn-assets/es/*';
