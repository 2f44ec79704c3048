"""All commands and their flags as one table; flags of studies follow from their questions.

A line without indent is a command: its name, the `module:function` below `core.cli` that answers
it, other settings, and behind ` : ` its summary. Its indented lines are

- flags: `--name TYPE as DEST in METAVAR =DEFAULT : help`; all but the name may be left out. `?`,
  `+` and `*` behind the name say how many values, `!` that they are required. A type is a key of
  `core.cli.flags.TYPES`, or choices with `|` between them; `yes` takes no value.
- arguments: the same, without dashes.
- `&GROUP VALUE`: the lines of that group, with the value for `{}`.
- `$ LINE`: an example for the help.
"""

TABLE = """
&modules
    --with module as modules in MODULE : your module that registers rankers, measures, …

&lists
    --initial : initial rankers, comma-separated (default {})
    --depth count =40 : candidates per query (default 40)
    --scores cross-fitted|in-sample =cross-fitted : initial scores (default cross-fitted)
    --preset : preset of rankers without one in their name, as small
    --device : cuda or cpu (default: cuda where there is one)

&workbench
    &modules
    --data =sample : name, key, file or folder (default sample)
    &lists {}

&conventions
    --conventions bundle : conventions of measures without their own; see `list conventions`
    --digits digit in DIGITS =3 : decimals in tables (default 3)

&baselines
    --test paired t|randomisation =paired t : significance test of the marks (default paired t)

&max-seconds
    --max-seconds seconds : time limit; the answer uses finished work only{}

&dry-run
    --dry-run answer={} : print the plan and its time; compute nothing

&workers
    --executor in WHERE : workers: processes:4, ray[:ADDRESS] or slurm[:PARTITION]

&jobs
    --jobs count : calls of a module:function or an endpoint at a time (default 1)
    --calls count : largest number of calls to endpoints (default: no limit)
    --api cohere|tei|voyage|mixedbread|chat : service of http://… rankers (default: by the path)

&study
    --queries count : number of test queries per fold (default: all)
    &dry-run studies:dry_run
    &max-seconds , and the same command without this flag continues
    &jobs
    &workers
    &workbench {}

&listless
    &max-seconds , and the same command without this flag continues
    &dry-run studies:dry_run
    &workers
    --data =sample : {} (default sample)

ingest data:ingest : store a data set from LETOR text or tables
    path? path : a file, or a folder or zip of parts or folds
    --name! : name of the data set
    --train+ path : files of the train part
    --valid+ path : files of the valid part
    --test+ path : files of the test part
    --fold count : number of the only fold to store (default: all)
    --split : shares of train, valid and test in a single file (default 0.6,0.2,0.2)
    --seed whole : seed of the split by query (default 0)
    --nulls error|zero|mean|largest|missing =error : value of NULL and NaN cells (default error)
    --columns in OURS=THEIRS,… : columns of a table, as query=session_id
    --texts path : document texts for functions (CSV or JSON lines)
    --documents path : document titles for pages: a table of docid and title, url or snippet
    --query-texts path as queries : query texts for pages: a table of qid, text and tag
    $ ingest MQ2008 --name mq2008
    $ ingest --name mine --train a.txt --valid b.txt --test c.txt --nulls zero
    $ ingest clicks.csv --name mine --columns query=session_id,label=target
    $ ingest --name mine --documents docs.csv --query-texts queries.jsonl

doctor data:doctor_ : problems of a data set or a ranker
    data? : name, key, LETOR file or folder, or `sample`
    --part all|train|valid|test =all : part of the data set (default all)
    --ranker : ranker to examine: a name, KIND:FILE, module:function or http://…
    --like as like in RANKER : second ranker: do both rank alike?
    --queries count : number of test queries for a ranker (default: all)
    --seed whole =0 : seed of the input orders for a ranker (default 0)
    --data as of : data set, the same as the first argument
    --all yes as verbose : print the notes too, part by part
    &jobs
    &lists lambdamart
    $ doctor sample
    $ doctor --ranker onnx:model.onnx --like lightgbm:model.txt --data mq2008
    $ doctor --ranker http://127.0.0.1:8000/rerank

ingest-reranks outside_rankers:ingest_reranks : store recorded answers of rerankers
    path+ path : run files, windows, logs or JSON lines, or folders of them
    --name! : name of the answers
    --qrels path : relevance judgments
    --groups in FIELD=VALUE,… : first_stage, reranker, depth or repeat of all files
    $ ingest-reranks first_stage reranked --name dl19 --qrels qrels.txt
    $ ingest-reranks answers.jsonl --name mine --groups reranker=my-model

ingest-preferences preferences:ingest : store preferences from pairs, matrices, rankings or runs
    path+ path : files: CSV, TSV, JSON lines, Parquet …
    --name! : name of the preferences
    --format pairs|matrix|rankings|runs : content of the files (default: by name and first lines)
    --direction small|large : numbers of the top ranks in rankings
    --nulls missing|last : an item that a ranker lacks: no vote, or last rank
    --repeats error|votes|first|last =error : a pair with two preferences (default error)
    --malformed error|skip =error : unreadable answers (default error)
    --columns in OURS=THEIRS,… : columns of a table, as query=topic
    --values in WORD=NUMBER,… : numbers for words, from 0 (b wins) to 1 (a wins)
    --qrels path : relevance labels of the items (TREC)
    $ ingest-preferences judged.csv --name judged
    $ ingest-preferences A1.txt --name agg --direction small --nulls last

consistency preferences:show_consistency : contradictions in preferences
    preferences : name, key or file
    --best yes : compute the order with fewest contradictions for each query
    $ consistency judged

aggregate preferences:show_orders : rank documents by preferences, and count the calls
    preferences : name, key or file
    --with as aggregators in NAMES =goa,kemeny : see `list aggregators` (default goa,kemeny)
    --calls whole : limit of calls (pairs) per query
    --top count : number of ranks to compute (default: all)
    --seed whole =0 : seed of pivots and of drawn pairs (default 0)
    $ aggregate judged --with goa,quicksort,kemeny
    $ aggregate judged --with quicksort,heap-top-k --calls 100 --top 10 --json

judge judging:judge initial=file-order : collect preferences of a live judge (LLM, service)
    name : name of the preferences; answers are added to existing ones
    --with! as judge in JUDGE : judge: http://… with JSON, or module:function
    --judge as called in NAME : name of the judge (default: its address or function)
    --pairs in WHICH =sampled : sampled (default), all, or an aggregator that chooses pairs
    --calls count : limit of answers, earlier ones included
    --orders both|one =both : input orders of each pair: both (default), or one at random
    --top count : number of ranks for an aggregator (default: all)
    --seed whole =0 : seed of drawn pairs and orders (default 0)
    --queries count : number of test queries, from the first (default: all)
    --jobs count =1 : calls at the same time (default 1)
    --retries whole =3 : repetitions of a failed call (default 3)
    --wait number =0.5 : seconds before the first repetition, doubled each time (default 0.5)
    --timeout number =60 : seconds for an answer (default 60)
    --price number : price of a call, for the estimate of the cost
    --seconds number : seconds of a call, for the estimate of the time
    --dry-run yes : print the cost and make no call
    --data =sample : name, key, file or folder (default sample)
    &lists file-order
    $ judge mine --with http://127.0.0.1:8000/judge --calls 100 --jobs 4
    $ judge mine --with judges:prefer --pairs heap-top-k --top 10 --dry-run

ingest-collection retrieval:ingest : store documents, queries and judgments
    path path : folder or archive: SMART, TREC, BEIR, JSON lines or tables
    --name! : name of the collection
    &fields CollectionFormat
    &fields Analysis
    $ ingest-collection cranfield --name cranfield
    $ ingest-collection scifact --name scifact --format beir

doctor-collection retrieval:doctor : problems of a text collection
    collection : name, key or folder
    --all yes as verbose : print the notes too
    $ doctor-collection cranfield

search retrieval:search : search a text collection
    collection : name, key or folder
    query : text of the query
    --by in NAMES =bm25 : retrievers, comma-separated (default bm25); see `list retrievers`
    -k count =10 : documents per retriever (default 10)
    $ search cranfield "heated slabs"
    $ search cranfield "flow" --by bm25,lsi -k 5

candidates retrieval:candidates : make a data set from a text collection
    collection : name, key or folder
    --name! : name of the data set
    --depth count =100 : candidates per query (default 100)
    --by in NAMES =bm25,ql,lsi : retrievers; the first selects documents (default bm25,ql,lsi)
    --features yes : add lengths and matched words as features
    --seed whole =0 : seed of the split by query (default 0)
    $ candidates cranfield --depth 100 --features --name cranfield_ltr

list rankers:names first=open:check_listed_ranker : names of rankers, measures, perturbations, …
    kind rankers|recipe|losses|measures|conventions|perturbations|studies|aggregators|retrievers
    of? in RANKER : ranker of `list recipe`, as dlcm@paper or snrm@tuned
    $ list rankers
    $ list recipe dlcm@paper

train rankers:train first=open:check_names : train a ranker, unless it is stored
    ranker : ranker, perhaps with @preset; snrm, fnrm or cnrm with a text collection
    --set* in FIELD=VALUE : fields of the recipe; see `list recipe RANKER`
    --seed whole : seed of the training
    &dry-run rankers:dry_run
    &workers
    &workbench lambdamart
    $ train lambdamart
    $ train dlcm@tuned --data mq2008 --set learning_rate=0.01 epochs=20

tune tune:tune first=open:check_names : tune a ranker on validation and store a preset
    ranker : ranker, perhaps with the @preset to start from
    --budget duration : time for new trials: 90s, 10m, 2h
    --trials count : limit of trials, presets included (default 40; no limit with --budget)
    --search* in FIELD : fields, FIELD=LOW..HIGH or FIELD=a,b (default: all with a range)
    --name : name of the preset (default tuned_ and the data's name)
    --seed whole =0 : seed of the search (default 0)
    --at-once count : parallel trials (default 1; with --executor one per worker)
    &workers
    &workbench lambdamart
    $ tune lambdamart --budget 10m
    $ tune dlcm@tuned --data mq2008 --trials 20 --search learning_rate batch_lists=8..64

certify rankers:certify first=open:check_names : test whether the input order changes the ranking
    ranker : module:function, a ranker, lightgbm:FILE or http://…
    --permutations count =20 : input orders per query (default 20)
    --queries count : number of test queries, from the first (default: all)
    --seed whole =0 : seed of the input orders (default 0)
    --lists* whole|duplicates : further lists: all documents of a query (whole), planted duplicates
    &max-seconds
    &jobs
    &workbench lambdamart
    $ certify setrank-imsab
    $ certify mymodule:score --data mq2008 --queries 50
    $ certify http://127.0.0.1:8000/rerank --data mytexts --queries 20 --jobs 4

bring outside_rankers:bring : store a ranker from a file
    kind scores|lightgbm|xgboost|onnx|torchscript|catboost|sklearn|ranklib : kind of file
    path path : scores of the test part, or a model file
    --data =sample : data set of the ranker (default sample)
    --columns names|id|id-1|order = : order of a model's columns (default: by names, else ids)
    $ bring scores mine.txt --data mq2008
    $ bring xgboost model.json --data mq2008 --columns id-1

runs outside_rankers:runs conventions=trec_eval : evaluate and compare TREC runs, like trec_eval
    run+ path : run files, or one table of judged rows: query, label, scores
    --qrels path : relevance judgments of runs
    --columns in OURS=THEIRS,… : columns of a table, as query=session_id
    --scores in COLUMN,… : columns of a table's scores (default: all others)
    --measures =NDCG@10,AP,P@10,RR : measures, comma-separated (default NDCG@10,AP,P@10,RR)
    &conventions
    &modules
    --against : baseline runs for the marks, comma-separated
    $ runs bm25.run dense.run --qrels qrels.txt
    $ runs judged.parquet --columns query=session_id --scores old,new --measures NDCG@10
    $ runs *.run --qrels qrels.txt --measures nDCG@10,RBP(p=0.8),bpref,Judged@10 --against bm25

which published:find_conventions : find the conventions that reproduce a published number
    --runs+! path : run, or scores of LETOR rows; several are folds
    --qrels+! path : relevance judgments, or LETOR files; one, or one for each run
    --value in NUMBER : published number, with its digits
    --measure : its measure, as ndcg@10 (default: all)
    --values in MEASURE=NUMBER,… : several numbers of the same run
    $ which --runs bm25.run --qrels qrels.txt --value .2294 --measure ndcg@10
    $ which --runs scores.txt --qrels test.txt --values ndcg@1=.36,ndcg@10=.2294

study initial-ranking studies:study
    $ study initial-ranking --rankers lambdamart,dlcm,setrank-imsab-init

study invariance studies:study
    $ study invariance --rankers dlcm,setrank-imsab
    $ study invariance --rankers mymodule:score --data mq2008 --queries 50

study benchmark studies:benchmark
    --against =initial ranking : baselines of the marks (default initial ranking)
    &baselines
    $ study benchmark --rankers table2 --seeds 3 --data mq2008
    $ study benchmark --rankers dlcm,dlcm@tuned --against dlcm --max-seconds 600

study card check:card
    --out path in card.json : file for `check --baseline card.json`
    --measures : measures in --out: NDCG at 1, 3, 5 or 10 (default NDCG@10)
    $ study card --rankers dlcm
    $ study card --rankers dlcm --out card.json

study rerankers studies:study
    $ study rerankers --data dl19
    $ study rerankers --data mytexts --rankers http://127.0.0.1:8000/rerank --calls 2000 --jobs 8
    $ study rerankers --rankers dlcm,setrank-imsab

study retrieval studies:listless
    --vary documents|queries|sparsity : variation; see `--vary queries --help` for its flags
    $ study retrieval
    $ study retrieval --data cranfield --seeds 4
    $ study retrieval --vary queries --data cranfield
study preferences studies:listless
    $ study preferences
    $ study preferences --data judged --disturbances noise,calls --aggregators goa,quicksort

check check:check : test a ranker against its stored card, for CI
    --baseline! path in card.json : file of `study card --out card.json`
    &modules
    --data : name, key, file or folder (default: the card's)
    --rankers : rankers, comma-separated; `new=old` renames one (default: the card's)
    --fail-on regression|soft|nothing =regression : losses with exit status 3 (default regression)
    --least number : smallest loss of a regression (default 0.01)
    --junit path in out.xml : write JUnit XML
    --markdown path in out.md : write a summary for a pull request
    --device : cuda or cpu (default: cuda where there is one)
    &jobs
    $ check --baseline card.json
    $ check --baseline card.json --rankers dlcm --junit card.xml --markdown card.md

selftest data:selftest : test the instruments on rankers with known faults
    --seed whole =0 : seed of random orders and simulated calls (default 0)
    $ selftest

leaderboard leaderboard:leaderboard : test which systems of a leaderboard are different
    table in path : systems × tasks, games, or wins and losses; or a folder of cards
    $ leaderboard scores.csv
    $ leaderboard cards --json

library list library:listing : stored data sets, rankers and studies
    --kind data|ranker|study|scores|preferences|collection : kind
    $ library list

library show library:show : recipe of an entry, with its command and Python code
    what : name or key, or a preset of `tune`: RANKER@NAME
    $ library show sample

library export library:export : write entries to an archive
    out path : file to write
    what+ : names or keys; everything that they need is included
    $ library export mine.zip study-3f2a91c4

library import library:take : store the entries of an archive
    archive path : file of `library export`
    $ library import mine.zip

library rename library:rename : rename an entry
    what : name or key
    name : new name
    $ library rename study-3f2a91c4 "Figure 3"

library delete library:delete : delete an entry
    what : name or key, or a preset of `tune`: RANKER@NAME
    --with-dependents yes : delete everything made from it too
    $ library delete mine --with-dependents

library verify library:verify : read every file and check its digest
    what* : names or keys (default: everything)
    $ library verify

library clean library:clean : list or remove files that nothing needs
    --yes yes : remove the files; by default they are listed only
    $ library clean --yes

export export:export first=open:export_format late=out : write a study, run, data set or figure
    what : study, ranker, data set or collection: name or key
    out? path in FILE : file, whose ending names the format (none: a LETOR folder)
    --format run|qrels|letor|csv|parquet|arrow|jsonl|latex|markdown|html|json|pdf|svg|png : one of
    --per-query yes : study: values by query instead of means
    --figure count : study: number of its figure (default 1)
    --no-caption yes : study: no line under the figure
    --width in LENGTH : figure width: 84mm, 3.3in, or 16:9 for a slide
    --size size in WIDTHxHEIGHT =900x500 : figure size in pixels, or `column` or `page`
    --against : benchmark: baselines of the marks (default initial ranking)
    --run path in FILE : collection: results of its queries (TREC)
    --by in RETRIEVER : collection: retriever of the run (default bm25)
    -k count =1000 : collection: documents per query (default 1000)
    --measures : measures, comma-separated (default: those of the study)
    --conventions bundle : conventions of measures without their own; see `list conventions`
    --digits digit in DIGITS : decimals in tables (default: those of the table)
    --test paired t|randomisation : benchmark: significance test of the marks (default paired t)
    --part all|train|valid|test : data set: part (default: all in tables and folders, else test)
    &workbench lambdamart
    $ export study-3f2a91c4 figure3.pdf --width 84mm
    $ export study-3f2a91c4 q.csv --per-query

demo work:demo : train and test four rankers on the sample, in minutes
    --out path =reports/demo.html : report file (default reports/demo.html)
    --llm in MODEL : rerank texts with a model instead: smollm2, a GGUF file or a chat's address
    $ demo
    $ demo --llm smollm2

publish work:publish : write a static site of studies and a shuffle
    out path : folder of the site
    --data =sample : data set of the studies and the shuffle (default sample)
    --studies : keys, comma-separated (default: the newest of each kind)
    --queries : test queries of the shuffle, comma-separated (default: an example)
    --cards path in FOLDER : folder of card.json files, for the leaderboard
    $ publish site
    $ publish site --data mine --queries 599,606 --cards cards

mcp agents:serve : answer coding agents and editors on standard input (MCP)
    $ mcp

app work:app : open the dashboard
    --host =127.0.0.1 : address of the server (default 127.0.0.1)
    --port port in PORT =8501 : port of the server (default 8501)
    --allow-host+ : allowed host names, besides loopback
    --base-path : path of the app behind a proxy
    $ app
    $ app --host 0.0.0.0 --port 8080 --allow-host ltr.example.org
"""

OWN = "options"
SECTIONS = {
    "start": "demo app mcp --version",
    "rankers": "list train tune certify bring runs which ingest-reranks",
    "studies": "study check selftest export leaderboard publish library",
    "data": "ingest doctor ingest-collection doctor-collection search candidates",
    "preferences": "ingest-preferences consistency aggregate judge",
    OWN: "| --seed --fold --split --texts --documents --query-texts --malformed --values --judge "
    "--retries --wait --timeout --price --seconds --no-caption --run --by --method --unit --size "
    "--figure -k --call-price --token-price --rounds --tries",
    "measures": "| --conventions --digits",
    "data and lists": "--data --initial --preset --queries | --depth --scores",
    "work": "| --api --calls --max-seconds --jobs --executor --with --device",
    "output": "--dry-run --json --verbose --all --help-all | --store -h",
}
"""Sections of a help text with their commands or flags; OWN has all others.

Only `--help-all` shows flags behind `|`.
"""

GROUPS = {
    "study": "run a study, such as initial-ranking or benchmark",
    "library": "stored entries: list, rename, move, delete, verify",
}
"""Summaries of groups of commands."""

EXIT_STATUS = {
    "certify": "Exit status: 0 invariant, 3 not invariant, 4 inconclusive.\n\nA function is {}. "
    "Ranks count from 0, the best first. {}\n\n",
    "check": "Exit status: 0 no regression, 3 regression, 4 inconclusive, 1 wrong data, 2 wrong "
    "usage.\n\nA regression is a significant loss (p ≤ .05, max-T over all comparisons) of --least "
    "or more that exceeds the ranker's own noise. A soft loss is smaller, or not significant. "
    "--fail-on names the losses with status 3.\n\n",
    "which": "Exit status: 0 if a convention matches, else 3.\n\n",
    "selftest": "Exit status: 0 if all verdicts are as expected, else 3.\n\n",
    "doctor": "Exit status: 3 if a problem makes studies unreliable, or if --like ranks otherwise, "
    "else 0.\n\n",
    "doctor-collection": "Exit status: 3 if a problem makes studies unreliable, else 0.\n\n",
}
"""Text above the examples of a command; `--help` shows the first paragraph only."""
