CREATE TABLE "choice" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
