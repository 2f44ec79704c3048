"""All commands and their flags as one table; flags of studies follow from their questions.

A line without indent is a command: its name, the `module:function` below `core.cli` that answers
it, other settings, and behind ` : ` its summary. Its indented lines are

- flags: `--name TYPE as DEST in METAVAR =DEFAULT : help`; all but the name may be left out. `?`,
  `+` and `*` behind the name say how many values, `!` that one is required. A type is a key of
  `core.cli.flags.TYPES`, or choices with `|` between them; `yes` takes no value.
- arguments: the same, without dashes.
- `&GROUP VALUE`: the lines of that group, with the value for `{}`.
- `$ LINE`: an example for the help.
"""

TABLE = """
&modules
    --with module as modules in MODULE : import your module that registers rankers, measures, …

&lists
    --initial : initial rankers, comma-separated (default {})
    --depth count =40 : candidates a query (default 40)
    --scores cross-fitted|in-sample =cross-fitted
    --preset : preset of rankers named without one
    --device : cuda or cpu (default: cuda where there is one)

&workbench
    &modules
    --data =sample : stored name, key, folder, or `sample`
    &lists {}

&conventions
    --conventions bundle : of measures that do not state their own; `list conventions`
    --digits digit in DIGITS =3 : decimals of printed tables (default 3)

&baselines
    --test paired t|randomisation =paired t : of the marks

&max-seconds
    --max-seconds seconds : begin nothing after so many seconds and answer from what is finished{}

&dry-run
    --dry-run answer={} : print what would be made and how long that takes; make nothing

&workers
    --executor in WHERE : runs trainings and cells: processes:4, ray[:ADDRESS], slurm[:PARTITION]

&jobs
    --jobs count : calls of a module:function at the same time, a process each (default 1)

&study
    --queries count : only the first so many test queries, of each fold
    &dry-run studies:dry_run
    &max-seconds ; the same line without it goes on
    &jobs
    &workers
    &workbench {}

&listless
    &max-seconds ; the same line without it goes on
    &dry-run studies:dry_run
    &workers
    --data =sample : a stored {}, or `sample`

ingest data:ingest : read LETOR text or tables into the store
    path? path : a file, or a folder or zip of parts or folds
    --name! : the name to find it by
    --train+ path : files of the train part
    --valid+ path : files of the valid part
    --test+ path : files of the test part
    --fold count : only this fold (default: all of them)
    --split : fractions for a single file (default: 0.6,0.2,0.2)
    --seed whole : seed of the split by query (default: 0)
    --nulls error|zero|mean|largest|missing =error : value of NULL and NaN cells (default: an error)
    --columns in OURS=THEIRS,… : names of columns in a table, as query=session_id
    --texts path : texts of documents for functions: CSV or JSON lines
    --documents path : shown on pages: a table of docid and title, url or snippet
    --query-texts path as queries : shown on pages: a table of qid, text and tag
    $ ingest MQ2008 --name mq2008
    $ ingest --name mine --train a.txt --valid b.txt --test c.txt --nulls zero
    $ ingest clicks.csv --name mine --columns query=session_id,label=target
    $ ingest --name mine --documents docs.csv --query-texts queries.jsonl

doctor data:doctor_ : problems of a data set or a ranker; exit status 3 where one spoils a study
    data? : a stored name, a key, a LETOR file or folder, or `sample`
    --part all|train|valid|test =all
    --ranker : examine this ranker instead: a name, KIND:FILE or module:function
    --queries count : of a ranker: only the first so many
    --seed whole =0 : of a ranker: of the orders that are tried
    --data as of : as the first word
    &lists lambdamart
    $ doctor sample
    $ doctor clicks.txt --part train --json

ingest-preferences preferences:ingest : read preferences: pairs, matrices, rankings, TREC runs
    path+ path : files: CSV, TSV, JSON lines, Parquet …
    --name! : the name to find them by
    --format pairs|matrix|rankings|runs : content of the files (default: by name and first lines)
    --direction small|large : of rankings: which numbers are the top
    --nulls missing|last : an item that a ranker lacks has no vote, or comes last
    --repeats error|votes|first|last =error : a pair with two preferences (default: an error)
    --malformed error|skip =error : unreadable answers (default: an error)
    --columns in OURS=THEIRS,… : names of our columns in the table
    --values in WORD=NUMBER,… : values of words of a preference, from 0 (b) to 1 (a)
    --qrels path : judgments (TREC): labels of items
    $ ingest-preferences judged.csv --name judged
    $ ingest-preferences A1.txt --name agg --direction small --nulls last

consistency preferences:show_consistency : contradictions in preferences
    preferences : a stored name, a key, or a file
    --best yes : search each query's best order too, and the least that any order contradicts
    $ consistency judged
    $ consistency judged --best --json

aggregate preferences:show_orders : orders made of preferences, and their cost
    preferences : a stored name, a key, or a file
    --with as aggregators in NAMES =goa,kemeny : of `list aggregators` (default goa,kemeny)
    --calls whole : pairs that may be asked a query
    --top count : ranks that are wanted (default: all)
    --seed whole =0 : of pivots and of pairs bought
    $ aggregate judged --with goa,quicksort,kemeny
    $ aggregate judged --with quicksort,heap-top-k --calls 100 --top 10 --json

judge judging:judge initial=file-order : ask a live judge for preferences between test documents
    name : of the preferences, which are made or extended
    --with! as judge in JUDGE : http://…, which takes and answers JSON, or module:function
    --judge as called in NAME : name of the judge (default: its address or function)
    --pairs in WHICH =sampled : sampled (default), all, or an aggregator, which asks itself
    --calls count : answers that are wanted, earlier ones included
    --orders both|one =both : show each pair in both orders (default), or in one that is drawn
    --top count : ranks that an aggregator wants (default: all)
    --seed whole =0 : of all that is drawn
    --queries count : only the first so many test queries
    --jobs count =1 : calls at the same time (default 1)
    --retries whole =3 : repetitions of a failed call (default 3)
    --wait number =0.5 : seconds before the first repetition, doubled each time (default 0.5)
    --timeout number =60 : seconds for an answer (default 60)
    --price number : of a call, for the cost that is printed before
    --seconds number : of a call, likewise
    --dry-run yes : print the cost and ask nothing
    --data =sample : stored name, key, folder, or `sample`
    &lists file-order
    $ judge mine --with http://127.0.0.1:8000/judge --calls 100 --jobs 4
    $ judge mine --with judges:prefer --pairs heap-top-k --top 10 --dry-run

ingest-collection retrieval:ingest : read documents, queries and judgments of a text collection
    path path : a folder of its files, or one archive: SMART, TREC, BEIR, JSON lines or tables
    --name! : the name to find it by
    &fields CollectionFormat
    &fields Analysis
    $ ingest-collection cranfield --name cranfield
    $ ingest-collection scifact --name scifact --format beir

doctor-collection retrieval:doctor : problems of a text collection; exit status 3 where there is one
    collection : a stored name, a key, or a folder
    $ doctor-collection cranfield
    $ doctor-collection cranfield --json

search retrieval:search : documents that retrievers find for a text
    collection : a stored name, a key, or a folder
    query : the text
    --by in NAMES =bm25 : comma-separated, of `list retrievers` (default bm25)
    -k count =10 : documents of each (default 10)
    $ search cranfield "heated slabs"
    $ search cranfield "flow" --by bm25,lsi -k 5

candidates retrieval:candidates : a learning-to-rank data set made of a text collection
    collection : a stored name, a key, or a folder
    --name! : the name to find the data set by
    --depth count =100 : candidates a query (default 100)
    --by in NAMES =bm25,ql,lsi : retrievers whose scores are features; the first finds candidates
    --features yes : lengths and matched words as features too
    --seed whole =0 : of the split by query
    $ candidates cranfield --depth 100 --features --name cranfield_ltr

list rankers:names first=open:look_over_list : names that can be chosen
    kind rankers|recipe|losses|measures|conventions|perturbations|studies|aggregators|retrievers
    of? in RANKER : of `recipe`: the ranker whose fields are listed, as dlcm@paper, snrm@tuned
    $ list rankers
    $ list recipe dlcm@paper

train rankers:train first=open:look_over : train a ranker, or find it trained
    ranker : of `list rankers`, with @preset if you like; snrm, fnrm, cnrm of a text collection
    --set* in FIELD=VALUE : recipe fields; `list recipe RANKER` names them
    --seed whole : of the ranker
    &dry-run rankers:dry_run
    &workers
    &workbench lambdamart
    $ train lambdamart
    $ train dlcm@tuned --data mq2008 --set learning_rate=0.01 epochs=20

tune tune:tune first=open:look_over : search a recipe on validation; the best becomes a preset
    ranker : one of `list rankers`; the search starts from its preset
    --budget duration : begin no trial after so long: 90s, 10m, 2h
    --trials count : trials at most, presets included (default 40, with --budget any number)
    --search* in FIELD : fields, perhaps FIELD=LOW..HIGH or FIELD=a,b (default: those with a range)
    --name : of the preset (default tuned_ and the data's name)
    --seed whole =0 : of the search (default 0)
    --at-once count : trials proposed at a time (default 1, with --executor as many as workers)
    &workers
    &workbench lambdamart
    $ tune lambdamart --budget 10m
    $ tune dlcm@tuned --data mq2008 --trials 20 --search learning_rate batch_lists=8..64

certify rankers:certify first=open:look_over : is it invariant to the order shown?
    ranker : a ranker, a model (lightgbm:FILE, xgboost:FILE) or module:function
    --permutations count =20 : a query (default 20)
    --queries count : only the first so many test queries
    --seed whole =0 : of the permutations (default 0)
    --lists* whole|duplicates : lists of all documents of a query too, planted duplicates
    &max-seconds
    &jobs
    &workbench lambdamart
    $ certify setrank-imsab
    $ certify mymodule:score --data mq2008 --queries 50

bring outside_rankers:bring : add a ranker by its file
    kind scores|lightgbm|xgboost
    path path : scores of the test part, or a model file
    --data =sample : the data set of the ranker
    --columns names|id|id-1|order = : how a model's columns are matched (default: what fits)
    $ bring scores mine.txt --data mq2008
    $ bring xgboost model.json --data mq2008 --columns id-1

runs outside_rankers:runs conventions=trec_eval : judge and compare TREC runs, as trec_eval does
    run+ path : files of runs
    --qrels! path : the judgments
    --measures =NDCG@10,AP,P@10,RR : comma-separated (default NDCG@10,AP,P@10,RR)
    &conventions
    &modules
    --against : runs for the marks, comma-separated
    $ runs bm25.run dense.run --qrels qrels.txt
    $ runs *.run --qrels qrels.txt --measures nDCG@10,RBP(p=0.8),bpref,Judged@10 --against bm25

study initial-ranking studies:study
    $ study initial-ranking --rankers lambdamart,dlcm,setrank-imsab-init

study invariance studies:study
    $ study invariance --rankers dlcm,setrank-imsab
    $ study invariance --rankers mymodule:score --data mq2008 --queries 50

study benchmark studies:benchmark
    --against =initial ranking : baselines (default initial ranking)
    &baselines
    $ study benchmark --rankers table2 --seeds 3 --data mq2008
    $ study benchmark --rankers dlcm,dlcm@tuned --against dlcm --max-seconds 600

study card check:card
    --out path in card.json : also write values by query, for `check --baseline card.json`
    --measures : with --out: comma-separated, NDCG at 1, 3, 5 or 10 (default NDCG@10)
    $ study card --rankers dlcm
    $ study card --rankers dlcm --out card.json

study retrieval studies:listless
    --vary documents|queries|sparsity : vary these, by other flags: `--vary queries --help`
    $ study retrieval
    $ study retrieval --data cranfield --seeds 4
    $ study retrieval --vary queries --data cranfield
study preferences studies:listless
    $ study preferences
    $ study preferences --data judged --disturbances noise,calls --aggregators goa,quicksort

check check:check : is a ranker worse than its stored card? for builds
    --baseline! path in card.json : a file of `study card --out card.json`
    &modules
    --data : stored name, key, folder (default: the card's)
    --rankers : comma-separated, `new=old` for another name in the card (default: the card's own)
    --fail-on regression|soft|nothing =regression : soft: soft losses too; nothing: status 0
    --least number : the smallest loss that is a regression (default 0.01)
    --junit path in out.xml : write JUnit XML
    --markdown path in out.md : write a summary for a pull request
    --device : cuda or cpu (default: cuda where there is one)
    &jobs
    $ check --baseline card.json
    $ check --baseline card.json --rankers dlcm --junit card.xml --markdown card.md

library list library:listing : everything that is stored
    --kind data|ranker|study|scores|preferences|collection
    $ library list
    $ library list --kind ranker

library show library:show : one entry: recipe, needs, command, Python
    what : a name or key, or a preset of `tune`: RANKER@NAME
    $ library show sample
    $ library show lambdamart@tuned_mq2008

library export library:export : one archive for another machine
    out path : the file to write
    what+ : names or keys; what they need goes along
    $ library export mine.zip study-3f2a91c4

library import library:take : take the artefacts of an archive
    archive path : a file of `library export`
    $ library import mine.zip

library rename library:rename : call something by another name
    what : a name or key
    name : its new name
    $ library rename study-3f2a91c4 "Figure 3"

library delete library:delete : delete something
    what : a name or key, or a preset of `tune`: RANKER@NAME
    --with-dependents yes : and everything that was made from it
    $ library delete mine --with-dependents
    $ library delete lambdamart@tuned_mq2008

library verify library:verify : read every file and compare digests
    what* : names or keys (default: everything)
    $ library verify
    $ library verify study-3f2a91c4

library clean library:clean : trials and left files that nothing needs
    --yes yes : remove it; without, it is only listed
    $ library clean
    $ library clean --yes

export export:export first=open:export_format late=out : write something stored to a file
    what : a stored study, ranker, data set or collection: key or name
    out? path in FILE : the file; its ending names the format (none: a LETOR folder)
    --format run|qrels|letor|csv|parquet|arrow|jsonl|latex|markdown|html|json|pdf|svg|png
    --per-query yes : of a study: values by query instead of means
    --figure count : of a study: number of its figure (default 1)
    --no-caption yes : leave out the line under a figure
    --width {widths} : of a figure for a column, a page or a slide, with letters to match
    --size size in WIDTHxHEIGHT =900x500 : of a figure, in pixels, or `column` or `page` of a paper
    --against : of a benchmark: baselines for its marks (default initial ranking)
    --run path in FILE : of a collection: results of its queries (TREC)
    --by in RETRIEVER : of a collection: the retriever (default bm25)
    -k count =1000 : documents a query (default 1000)
    --measures : comma-separated (default: those of the study)
    --conventions bundle : of measures that do not state their own; `list conventions`
    --digits digit in DIGITS : decimals of printed tables (default the table’s own)
    --test paired t|randomisation : of the marks
    --part all|train|valid|test : of a data set (default: all in tables and folders, else test)
    &workbench lambdamart
    $ export study-3f2a91c4 figure3.pdf --size column
    $ export study-3f2a91c4 q.csv --per-query
    $ export cranfield --run f.run --by bm25

demo work:demo : the main job on the sample set, in minutes
    --out path =reports/demo.html : the report
    $ demo
    $ demo --out report.html

app work:app : open the dashboard
    --host =127.0.0.1 : address to listen on
    --port port in PORT =8501
    --allow-host+ : host names it answers to, beside loopback
    --base-path : path below which a proxy serves it
    $ app
    $ app --host 0.0.0.0 --port 8080 --allow-host ltr.example.org
"""

GROUPS = {
    "study": "run a study; finished trials are never repeated",
    "library": "what is stored: names, archives, damage",
}
"""What the first words of several commands mean."""

EXIT_STATUS = {
    "certify": "exit status: 0 invariant, 3 not invariant, 4 inconclusive. A function is {}; ranks "
    "count from 0, the best first. {}",
    "check": "exit status: 0 no worse; 3 a regression (or what --fail-on names); 4 inconclusive: "
    "not comparable, or an unreliable baseline; 1 and 2 wrong input or usage. A regression is a "
    "loss of --least or more that is beyond chance (max-T over all comparisons) and beyond the "
    "ranker's own noise; soft is one that is smaller, or not told from chance.",
}
"""What the help of a command says above its examples."""
